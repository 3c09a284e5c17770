"""From steps to a plan: where every value lives, what runs natively, what the host does."""

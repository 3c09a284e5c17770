"""The cache of compiled programs: a process that captures a graph which an earlier one compiled
takes its plan, and passes, fusion, selection, planning and code generation are skipped."""

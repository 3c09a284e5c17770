"""Hugging Face models at small sizes: two narrow layers, random weights, no downloads. Each builder
returns the model in eval mode and the keyword arguments of a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Workload = tuple[nn.Module, dict[str, Tensor]]


def tokens(batch: int = 2, length: int = 12, vocabulary: int = 100) -> Tensor:
    return torch.randint(1, vocabulary, (batch, length))


def padded(ids: Tensor) -> dict[str, Tensor]:
    """The last sequence is three tokens shorter than the others."""
    mask = torch.ones_like(ids)
    mask[-1, -3:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def bert() -> Workload:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    return BertForMaskedLM(config), padded(tokens())


def gpt2() -> Workload:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64)
    return GPT2LMHeadModel(config), padded(tokens())


def llama() -> Workload:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    return LlamaForCausalLM(config), padded(tokens())


def t5() -> Workload:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=100, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2,
        decoder_start_token_id=0,
    )  # fmt: skip
    return T5ForConditionalGeneration(config), {
        **padded(tokens()),
        "decoder_input_ids": tokens(2, 5),
    }


def vit() -> Workload:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        image_size=32, patch_size=8, num_labels=5,
    )  # fmt: skip
    return ViTForImageClassification(config), {"pixel_values": torch.randn(2, 3, 32, 32)}


def opt() -> Workload:
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=64,
        max_position_embeddings=64, word_embed_proj_dim=32,
    )  # fmt: skip
    return OPTForCausalLM(config), padded(tokens())


def whisper() -> Workload:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        d_model=32, encoder_layers=2, encoder_attention_heads=2, encoder_ffn_dim=64,
        num_mel_bins=16, max_source_positions=20,
    )  # fmt: skip
    return WhisperEncoder(config), {"input_features": torch.randn(2, 16, 40)}


def mixtral() -> Workload:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=48, num_local_experts=4, num_experts_per_tok=2,
        max_position_embeddings=64,
    )  # fmt: skip
    model = MixtralForCausalLM(config)
    model.set_experts_implementation("eager")  # the other implementations have no float64 reference
    return model, padded(tokens())


def clip() -> Workload:
    from transformers import CLIPConfig, CLIPModel

    text = {
        "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 16, "eos_token_id": 99,
    }  # fmt: skip
    vision = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "image_size": 32, "patch_size": 8,
    }  # fmt: skip
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    images = torch.randn(2, 3, 32, 32)
    return CLIPModel(config), {**padded(tokens()), "pixel_values": images}


BUILDERS: dict[str, Callable[[], Workload]] = {
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
    "t5": t5,
    "vit": vit,
    "opt": opt,
    "whisper": whisper,
}
SLOW_BUILDERS: dict[str, Callable[[], Workload]] = {"mixtral": mixtral, "clip": clip}


def tensors_of(output: Any) -> list[Tensor]:
    """The returned tensors, flat, without those only passed through (caches)."""
    values = output.to_tuple() if hasattr(output, "to_tuple") else (output,)
    return [value for value in values if isinstance(value, Tensor)]

"""The measured networks: real architectures, random weights with a fixed seed, no downloads. Each
builder returns a module in eval mode and the arguments to call it with; modules return tensors or
tuples of them. Those from transformers are here, the others in `plain_nets.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

import plain_nets
from ingot.bench.workload import Workload
from plain_nets import resnet

__all__ = ["NETWORKS", "QUICK", "Workload", "bert", "resnet"]


def bert(*, layers: int = 12, width: int = 768, batch: int = 1, tokens: int = 128) -> Workload:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        return_dict=False,
    )
    return BertModel(config).eval(), (tokens_of(config, batch, tokens),)


def tokens_of(config: Any, batch: int, tokens: int) -> torch.Tensor:
    return torch.randint(0, config.vocab_size, (batch, tokens))


class Logits(nn.Module):
    """A transformers model called by position that returns only the logits."""

    def __init__(self, model: nn.Module, *names: str):
        super().__init__()
        self.model = model.eval()
        self.names = names

    def forward(self, *args: Any) -> Any:
        return self.model(**dict(zip(self.names, args, strict=True))).logits


def language_model(name: str, *, tokens: int = 128, **settings: Any) -> Workload:
    """A decoder over a whole prompt, with the logits of every position."""
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(use_cache=False, **settings)
    model = transformers.AutoModelForCausalLM.from_config(config)
    return Logits(model, "input_ids").eval(), (tokens_of(config, 1, tokens),)


def t5(*, tokens: int = 128, **settings: Any) -> Workload:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(use_cache=False, **settings)
    names = ("input_ids", "decoder_input_ids")
    model = Logits(T5ForConditionalGeneration(config), *names)
    return model.eval(), tuple(tokens_of(config, 1, tokens) for _ in names)


def image_classifier(name: str, *, pixels: int = 224, **settings: Any) -> Workload:
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(num_labels=1000, image_size=pixels, **settings)
    model = transformers.AutoModelForImageClassification.from_config(config)
    return Logits(model, "pixel_values").eval(), (torch.randn(1, 3, pixels, pixels),)


def whisper_encoder(*, layers: int = 4, seconds: int = 30) -> Workload:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    torch.manual_seed(0)
    config = WhisperConfig(
        d_model=384,
        encoder_layers=layers,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        max_source_positions=50 * seconds,
        return_dict=False,
    )
    return WhisperEncoder(config).eval(), (torch.randn(1, config.num_mel_bins, 100 * seconds),)


def gpt2_decode(*, cached: int = 512) -> Workload:
    """One more token after `cached` tokens; every call writes the same position of the cache."""
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config()).eval()
    model.generation_config.cache_implementation = "static"
    step = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=1024)
    for name, buffer in step.named_buffers():
        if name.startswith(("key_cache", "value_cache")):
            buffer[:, :, :cached].normal_()
    return Step(step).eval(), (tokens_of(model.config, 1, 1), torch.tensor([cached]))


class Step(nn.Module):
    """The module with its two arguments by position."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return self.module(input_ids=ids, cache_position=position)


LLAMA = {
    "hidden_size": 768,
    "num_hidden_layers": 8,
    "num_attention_heads": 12,
    "intermediate_size": 2048,
}


NETWORKS: dict[str, Callable[[], Workload]] = {
    "bert-base": bert,
    "opt-125m": partial(language_model, "OPT"),
    "gpt2": partial(language_model, "GPT2"),
    "llama-8x768": partial(language_model, "Llama", **LLAMA),
    "t5-small": t5,
    "vit-b16": partial(image_classifier, "ViT"),
    "resnet-50": resnet,
    "mobilenet-v2": plain_nets.mobilenet,
    "convnext-tiny": partial(image_classifier, "ConvNext"),
    "whisper-tiny-encoder": whisper_encoder,
    "lstm": plain_nets.lstm,
    "unet": plain_nets.unet,
    "dlrm": plain_nets.recommender,
    "mlp": plain_nets.mlp,
    "gpt2-decode": gpt2_decode,
}
QUICK = ("mlp", "dlrm", "lstm", "mobilenet-v2", "bert-base")
"""One network of each kind, fast to build and compile."""

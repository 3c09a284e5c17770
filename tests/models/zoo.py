"""Many Hugging Face architectures with two narrow layers each: class, configuration, argument
shapes. None was used during the development of ingot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

VOCABULARY = 100
PLAIN: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "pad_token_id": 0,
}  # fmt: skip
VISION: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
SPEECH: dict[str, Any] = {**VISION, "conv_dim": (16,) * 7, "num_conv_pos_embeddings": 16,
                          "num_conv_pos_embedding_groups": 4, "mask_time_prob": 0.0}  # fmt: skip
ENCODER_DECODER: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    model: str
    settings: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    """Shapes of the arguments; names that end in `ids` are tokens."""
    config: str = ""
    """By default the name of the model with Config in place of Model."""

    def build(self) -> tuple[nn.Module, dict[str, Tensor]]:
        import transformers

        torch.manual_seed(0)
        config = self.config or self.model.replace("Model", "Config")
        model = getattr(transformers, self.model)(getattr(transformers, config)(**self.settings))
        return model, {name: _argument(name, shape) for name, shape in self.shapes.items()}


def _argument(name: str, shape: tuple[int, ...]) -> Tensor:
    return torch.randint(4, 30, shape) if name.endswith("ids") else torch.randn(shape)


Shapes = dict[str, tuple[int, ...]]

TEXT: Shapes = {"input_ids": (2, 16)}
LONG: Shapes = {"input_ids": (1, 64)}


def image(size: int) -> Shapes:
    return {"pixel_values": (2, 3, size, size)}


VIDEO: Shapes = {"pixel_values": (1, 2, 3, 32, 32)}
SOUND: Shapes = {"input_values": (1, 4000)}

ZOO: dict[str, Entry] = {
    "albert": Entry("AlbertModel", {**PLAIN, "embedding_size": 16}, TEXT),
    "bart": Entry("BartModel", ENCODER_DECODER, TEXT),
    "beit": Entry(
        "BeitModel",
        {**VISION, "image_size": 32, "patch_size": 8, "use_relative_position_bias": True},
        image(32),
    ),
    "bigbird": Entry(
        "BigBirdModel",
        {**PLAIN, "block_size": 8, "num_random_blocks": 1, "max_position_embeddings": 128},
        {"input_ids": (1, 96)},
    ),
    "bloom": Entry(
        "BloomModel", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}, TEXT
    ),
    "cohere": Entry("CohereModel", PLAIN, TEXT),
    "convbert": Entry("ConvBertModel", {**PLAIN, "embedding_size": 32}, TEXT),
    "convnextv2": Entry(
        "ConvNextV2Model",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
        image(64),
    ),
    "deberta": Entry(
        "DebertaV2Model",
        {**PLAIN, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
        TEXT,
    ),
    "deepseek": Entry(
        "DeepseekV3Model",
        {
            **PLAIN, "moe_intermediate_size": 16, "n_routed_experts": 4, "n_group": 2,
            "topk_group": 1, "num_experts_per_tok": 2, "q_lora_rank": 8, "kv_lora_rank": 8,
            "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "num_key_value_heads": 4,
        },
        TEXT,
    ),
    "dinov2": Entry("Dinov2Model", {**VISION, "image_size": 56, "patch_size": 14}, image(42)),
    "efficientnet": Entry(
        "EfficientNetModel",
        {"width_coefficient": 0.25, "depth_coefficient": 0.2, "hidden_dim": 320},
        image(64),
    ),
    "esm": Entry(
        "EsmModel",
        {**PLAIN, "vocab_size": 33, "position_embedding_type": "rotary"},
        TEXT,
    ),
    "falcon": Entry(
        "FalconModel",
        {**{k: v for k, v in PLAIN.items() if k != "intermediate_size"}, "alibi": True},
        TEXT,
    ),
    "fnet": Entry(
        "FNetModel", {k: v for k, v in PLAIN.items() if k != "num_attention_heads"}, TEXT
    ),
    "funnel": Entry(
        "FunnelModel",
        {
            "vocab_size": VOCABULARY, "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64,
            "block_sizes": [1, 1],
        },
        TEXT,
    ),
    "gemma2": Entry("Gemma2Model", {**PLAIN, "head_dim": 8, "num_key_value_heads": 2}, TEXT),
    "gptj": Entry(
        "GPTJModel",
        {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4},
        TEXT,
    ),
    "gpt-neox": Entry("GPTNeoXModel", PLAIN, TEXT),
    "hubert": Entry("HubertModel", SPEECH, SOUND),
    "levit": Entry(
        "LevitModel",
        {
            "image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4],
            "depths": [1, 1, 1], "key_dim": [8, 8, 8],
        },
        image(64),
    ),
    "led": Entry(
        "LEDModel",
        {
            **ENCODER_DECODER, "attention_window": 8, "max_encoder_position_embeddings": 64,
            "max_decoder_position_embeddings": 64,
        },
        {"input_ids": (2, 16), "decoder_input_ids": (2, 16)},
    ),
    "longformer": Entry(
        "LongformerModel", {**PLAIN, "attention_window": 8, "max_position_embeddings": 64}, TEXT
    ),
    "mamba": Entry(
        "MambaModel",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
        TEXT,
    ),
    "mamba2": Entry(
        "Mamba2Model",
        {
            "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 4,
            "head_dim": 16, "n_groups": 1, "state_size": 8, "chunk_size": 8,
        },
        TEXT,
    ),
    "mobilevit": Entry(
        "MobileViTModel",
        {
            "image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": 2,
            "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32],
        },
        image(64),
    ),
    "mpt": Entry(
        "MptModel", {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4}, TEXT
    ),
    "olmo2": Entry("Olmo2Model", PLAIN, TEXT),
    "patchtst": Entry(
        "PatchTSTModel",
        {
            "num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8,
            "d_model": 16, "num_hidden_layers": 2, "ffn_dim": 32,
        },
        {"past_values": (2, 32, 3)},
    ),
    "perceiver": Entry(
        "PerceiverModel",
        {
            "d_latents": 32, "num_latents": 8, "d_model": 16, "num_blocks": 1,
            "num_self_attends_per_block": 2, "num_self_attention_heads": 4,
            "num_cross_attention_heads": 4,
        },
        {"inputs": (1, 24, 16)},
    ),
    "phi": Entry("PhiModel", PLAIN, TEXT),
    "poolformer": Entry(
        "PoolFormerModel", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}, image(64)
    ),
    "qwen2": Entry("Qwen2Model", {**PLAIN, "num_key_value_heads": 2}, TEXT),
    "recurrent-gemma": Entry(
        "RecurrentGemmaModel",
        {**PLAIN, "num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 8},
        TEXT,
    ),
    "regnet": Entry(
        "RegNetModel",
        {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1],
         "groups_width": 8},
        image(64),
    ),
    "rwkv": Entry(
        "RwkvModel", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}, TEXT
    ),
    "segformer": Entry(
        "SegformerModel",
        {
            "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 3, 4], "decoder_hidden_size": 16,
        },
        image(64),
    ),
    "squeezebert": Entry("SqueezeBertModel", {**PLAIN, "embedding_size": 32}, TEXT),
    "swin": Entry(
        "SwinModel",
        {"image_size": 64, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2], "window_size": 4},
        image(64),
    ),
    "swin2sr": Entry(
        "Swin2SRModel",
        {"image_size": 16, "embed_dim": 8, "depths": [2], "num_heads": [2], "window_size": 4},
        image(16),
    ),
    "timesformer": Entry(
        "TimesformerModel", {**VISION, "image_size": 32, "patch_size": 8, "num_frames": 2}, VIDEO
    ),
    "vilt": Entry(
        "ViltModel",
        {**PLAIN, "image_size": 32, "patch_size": 8},
        {"input_ids": (2, 8), **image(32)},
    ),
    "wav2vec2": Entry("Wav2Vec2Model", SPEECH, SOUND),
    "wavlm": Entry("WavLMModel", SPEECH, SOUND),
    "xlnet": Entry(
        "XLNetModel",
        {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
        TEXT,
    ),
}  # fmt: skip

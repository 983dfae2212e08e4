"""What a row of the parity fixtures' families says, and the sizes that many of them have."""

import dataclasses

LLAMA_CPP = "llama.cpp"  # a GGUF written by llama.cpp's converter
NULL = object()  # null, where None takes a key away


@dataclasses.dataclass(frozen=True)
class Fixture:
    model: str  # class in parity_definitions.py or in transformers
    config: dict
    element_type: str = "BF16"  # of the matrices
    gguf: str | None = LLAMA_CPP  # or an architecture that parity_files.py writes, or none
    prompt_lengths: tuple = (27,)
    continuation_length: int = 5
    is_encoder: bool = False  # no logits: hidden states of texts of prompt_lengths
    answers: tuple = ()  # of such texts, too, the logits of these tokens at the end
    is_encoder_decoder: bool = False  # logits of targets, behind sources of prompt_lengths
    plus_one: bool = False  # norms' weights are stored minus one
    gains: dict = dataclasses.field(default_factory=dict)  # pattern of names -> factor of the standard deviation
    has_own_head: bool = False  # transformers ties it all the same
    constant: str | None = None  # pattern of the tensors that training does not change
    unseen: str | None = None  # pattern of the tensors that cannot change the logits
    mxfp4: str | None = None  # pattern of the tensors stored so
    visible: tuple = ()  # changes of the configuration, each of which must change the logits
    plain_config: bool = False  # llama.cpp's converter is to read config.json itself, not through transformers
    renamed: dict = dataclasses.field(default_factory=dict)  # pattern in tensors' names -> what published files have there, one after the other
    joined: dict = dataclasses.field(default_factory=dict)  # pattern with a group of words -> the name of all these one below the other
    adapters: int = 0  # so many low-rank adapters of each matrix lie beside it
    predicts: int | None = None  # a layer of whose kind the published files have one more, which guesses tokens further ahead
    published_class: str | None = None  # where config.json on the hub names another class than transformers'
    published_config: dict = dataclasses.field(default_factory=dict)  # and other keys


def rope(rope_type="default", theta=10000.0, **more):
    return dict(rope_type=rope_type, rope_theta=theta, **more)


SMALL = dict(num_hidden_layers=3, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, intermediate_size=32,
             vocab_size=264, max_position_embeddings=128, rms_norm_eps=1e-4, bos_token_id=256, eos_token_id=257, pad_token_id=None,
             tie_word_embeddings=True)
GEMMA3 = dict(num_hidden_layers=6, hidden_size=16, head_dim=6, intermediate_size=24, query_pre_attn_scalar=6, sliding_window=10,
              rope_parameters=dict(full_attention=rope("linear", 1e6, factor=8.0), sliding_attention=rope(theta=10000.0)))

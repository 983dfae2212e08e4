"""The parity fixtures of encoders, of classifiers over them, and of encoder-decoders."""

from parity_fixture import GEMMA3, LLAMA_CPP, NULL, SMALL, Fixture, rope

BERT = dict(num_hidden_layers=3, hidden_size=24, num_attention_heads=4, intermediate_size=40, vocab_size=264, max_position_embeddings=64,
            layer_norm_eps=1e-6, type_vocab_size=2, pad_token_id=0)


def encoder(model, config, **more):
    """Three texts: one of a single token, one shorter than a block of the cache, one longer."""
    return Fixture(model, config, is_encoder=True, prompt_lengths=(1, 13, 41), **more)


JINA_BERT = dict(num_hidden_layers=3, hidden_size=24, num_attention_heads=6, intermediate_size=32, vocab_size=264, max_position_embeddings=64,
                 layer_norm_eps=1e-6, type_vocab_size=2, pad_token_id=0, feed_forward_type="geglu", hidden_act="gelu",
                 position_embedding_type="alibi", tie_word_embeddings=False)
JINA_BERT_FILE = dict(model_type="bert", qk_post_norm=None)
JINA_BERT_CODE = dict(AutoConfig="jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
                      AutoModel="jinaai/jina-bert-implementation--modeling_bert.JinaBertModel")
NOMIC_MOE = dict(n_layer=4, n_embd=16, n_head=2, n_inner=20, n_positions=2048, vocab_size=264, type_vocab_size=1, layer_norm_epsilon=1e-5,
                 rotary_emb_base=1000.0, num_experts=4, moe_top_k=2, moe_every_n_layers=2, activation_function="gelu", causal=False,
                 prenorm=False, qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, rotary_emb_fraction=1.0,
                 rotary_emb_interleaved=False, rotary_emb_scale_base=None, expert_choice_router=False, moe_normalize_expert_weights=False,
                 num_shared_experts=0, ffn_div=1, pad_token_id=1, tie_word_embeddings=False)
GTE = dict(num_hidden_layers=3, hidden_size=24, num_attention_heads=3, intermediate_size=32, vocab_size=264, max_position_embeddings=64,
           layer_norm_eps=1e-6, type_vocab_size=0, pad_token_id=0, rope_parameters=rope("ntk", 500.0, factor=3.0))
JINA_V3 = dict(BERT, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66, rope_parameters=rope(theta=500.0))
FLASH = dict(model_type="xlm-roberta", auto_map=dict(AutoConfig="configuration_xlm_roberta.XLMRobertaFlashConfig"))

MASKED_UNSEEN = r"(key|k_lin)\.bias$"

ENCODERS = {
    # The pooler is no part of hidden states; keys with a bias give the same. The second type's embedding is a second text's.
    "distilbert": encoder("DistilBertModel", dict(n_layers=2, dim=24, n_heads=4, hidden_dim=40, vocab_size=264, max_position_embeddings=64),
                          unseen=r"k_lin\.bias$"),
    "eurobert": encoder("EuroBertModel", dict(
        num_hidden_layers=2, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, intermediate_size=32, vocab_size=264,
        max_position_embeddings=64, pad_token_id=0, bos_token_id=256, eos_token_id=257, rms_norm_eps=1e-4, classifier_pooling="mean",
        rope_parameters=rope(theta=1000.0)),
        visible=(dict(rope_parameters=rope(theta=2000.0)),)),
    # Windows reach 10 positions to either side, in every layer but the sixth.
    "gemma_embedding": encoder("Gemma3TextModel", {**SMALL, **GEMMA3, "sliding_window": 20, "use_bidirectional_attention": True}, plus_one=True,
                               visible=(dict(sliding_window=22), dict(sliding_window=18))),
    # The first layer has no norm before it; windows reach 10 positions to either side.
    "modernbert": encoder("ModernBertModel", dict(
        num_hidden_layers=4, hidden_size=24, num_attention_heads=2, intermediate_size=32, vocab_size=264, max_position_embeddings=64,
        local_attention=20, pad_token_id=0, bos_token_id=256, eos_token_id=257, cls_token_id=256, sep_token_id=257), visible=(
            dict(local_attention=22), dict(local_attention=18))),
    # As published, with GPT-2's keys; those trained for 2,048 positions say 8,192.
    "nomic_bert": encoder("NomicBertModel", dict(BERT, max_position_embeddings=8192, rope_parameters=rope(theta=1000.0)), plain_config=True,
                          unseen=r"^pooler\.", visible=(dict(rope_parameters=rope(theta=2000.0)),), published_config=dict(
        n_embd=BERT["hidden_size"], n_head=BERT["num_attention_heads"], n_layer=BERT["num_hidden_layers"], n_inner=BERT["intermediate_size"],
        n_positions=8192, layer_norm_epsilon=1e-6, activation_function="swiglu", causal=False, prenorm=False, rotary_emb_base=1000,
        rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=NULL, qkv_proj_bias=False, mlp_fc1_bias=False,
        mlp_fc2_bias=False, hidden_size=None, num_attention_heads=None, num_hidden_layers=None, intermediate_size=None, head_dim=None,
        max_position_embeddings=None, layer_norm_eps=None, hidden_act=None, rope_parameters=None)),
    "roberta": encoder("XLMRobertaModel", dict(BERT, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66),
                       unseen=r"^pooler\.|key\.bias$"),
    "bert_classifier": encoder("BertForSequenceClassification", dict(BERT, num_labels=3), gguf=None, unseen=r"key\.bias$"),
    "distilbert_classifier": encoder("DistilBertForSequenceClassification", dict(
        n_layers=2, dim=24, n_heads=4, hidden_dim=40, vocab_size=264, max_position_embeddings=64, num_labels=2), gguf=None,
        unseen=r"k_lin\.bias$"),
    "modernbert_classifier": encoder("ModernBertForSequenceClassification", dict(
        num_hidden_layers=4, hidden_size=24, num_attention_heads=2, intermediate_size=32, vocab_size=264, max_position_embeddings=64,
        local_attention=20, pad_token_id=0, bos_token_id=256, eos_token_id=257, cls_token_id=256, sep_token_id=257, num_labels=3,
        classifier_pooling="mean"), gguf=None, visible=(dict(classifier_pooling="cls"),)),
    "roberta_classifier": encoder("XLMRobertaForSequenceClassification", dict(
        BERT, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66, num_labels=5), gguf=None, unseen=r"(key|query)\.bias$"),
    "roberta_ranker": encoder("XLMRobertaForSequenceClassification", dict(
        BERT, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66, num_hidden_layers=2, num_labels=1), unseen=r"(key|query)\.bias$"),
    "mpnet": encoder("MPNetModel", dict(BERT, max_position_embeddings=66, pad_token_id=1), gguf=None, unseen=r"^pooler\.|attn\.k\.bias$"),
    "mpnet_classifier": encoder("MPNetForSequenceClassification", dict(BERT, max_position_embeddings=66, pad_token_id=1, num_labels=2), gguf=None,
                                unseen=r"attn\.[kq]\.bias$", gains={r"attn\.[kq]\.weight": 2}),
    "jina_bert": encoder("JinaBertModel", dict(JINA_BERT, qk_post_norm=False), plain_config=True, unseen=r"^pooler\.|key\.bias$",
                         published_class="JinaBertForMaskedLM", published_config=dict(JINA_BERT_FILE, auto_map=JINA_BERT_CODE)),
    # The last type of a norm leaves nothing to see of a bias that is the same for all keys.
    "jina_bert_code": encoder("JinaBertModel", dict(JINA_BERT, qk_post_norm=True, num_hidden_layers=2), plain_config=True, unseen=r"^pooler\.|layer_norm_k\.bias$",
                              published_class="JinaBertForMaskedLM", published_config=dict(JINA_BERT_FILE, auto_map=dict(
                                  AutoModel="jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"))),
    "jina_bert_classifier": encoder("JinaBertForSequenceClassification", dict(
        JINA_BERT, qk_post_norm=False, feed_forward_type="reglu", num_labels=3), gguf=None, unseen=r"(key|query)\.bias$",
        published_config=dict(JINA_BERT_FILE, auto_map=JINA_BERT_CODE)),
    # GGUF has no bias of experts: none but zeros are published.
    "nomic_bert_moe": encoder("NomicMoeModel", NOMIC_MOE, plain_config=True, published_class="NomicBertModel", constant=r"experts\.bias$",
                              unseen=r"Wqkv\.bias$|experts\.bias$|token_type", published_config=dict(model_type="nomic_bert")),
    "nomic_bert_moe_bias": encoder("NomicMoeModel", NOMIC_MOE, gguf=None, published_class="NomicBertModel", published_config=dict(
        model_type="nomic_bert"), unseen=r"token_type"),
    "gte": encoder("GteModel", GTE, gguf=None, published_class="NewModel", published_config=dict(
        model_type="new", rope_parameters=None, rope_theta=500.0, rope_scaling=dict(factor=3.0, type="ntk"), position_embedding_type="rope",
        layer_norm_type="layer_norm", pack_qkv=True, logn_attention_scale=False), unseen=r"k_proj\.bias$"),
    "gte_types": encoder("GteModel", dict(GTE, type_vocab_size=1, rope_parameters=rope(theta=160000.0)), gguf=None, unseen=r"k_proj\.bias$"),
    "gte_classifier": encoder("GteForSequenceClassification", dict(
        GTE, num_labels=1, rope_parameters=rope("ntk", 500.0, factor=3.0, mixed_b=1.5)), gguf=None, published_class="NewForSequenceClassification",
                              published_config=dict(
        model_type="new", rope_parameters=None, rope_theta=500.0, rope_scaling=dict(factor=3.0, type="ntk", mixed_b=1.5)), unseen=r"[kq]_proj\.bias$", renamed={r"^gte\.": "new."}),
    # Adapters of tasks lie beside the weights, and count for nothing without a task.
    "jina_embeddings_v3": encoder("JinaEmbeddingsV3Model", JINA_V3, plain_config=True, published_class="XLMRobertaModel", published_config=dict(
        FLASH, rope_parameters=None, position_embedding_type="rotary", rotary_emb_base=500.0, lora_adaptations=["separation", "retrieval.query"],
        lora_rank=2, lora_alpha=1), unseen=r"^pooler\.|k_proj\.bias$", adapters=2),
    "jina_embeddings_v3_hf": encoder("JinaEmbeddingsV3ForSequenceClassification", dict(JINA_V3, num_labels=2), gguf=None,
                                     unseen=r"[kq]_proj\.bias$"),
    "jina_reranker_v2": encoder("XLMRobertaForSequenceClassification", dict(
        BERT, num_hidden_layers=2, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66, num_labels=1), gguf=None, unseen=r"(key|query)\.bias$",
        published_config=dict(FLASH, position_embedding_type="absolute"), renamed={
            r"embeddings\.LayerNorm": "emb_ln", r"encoder\.layer\.": "encoder.layers.", r"attention\.output\.dense": "mixer.out_proj",
            r"attention\.output\.LayerNorm": "norm1", r"intermediate\.dense": "mlp.fc1", r"output\.dense": "mlp.fc2",
            r"output\.LayerNorm": "norm2"}, joined={r"attention\.self\.(query|key|value)": "mixer.Wqkv"}),
    # Decoders, of whose last position labels are made, or the logits of two answers.
    "llama_classifier": encoder("LlamaForSequenceClassification", dict(SMALL, num_hidden_layers=2, num_labels=3), gguf=None),
    "qwen3_classifier": encoder("Qwen3ForSequenceClassification", dict(SMALL, num_hidden_layers=2, head_dim=6, num_labels=1), gguf=None),
    "qwen3_reranker": encoder("Qwen3ForCausalLM", dict(SMALL, head_dim=6), answers=(5, 6), plain_config=True,
                              published_config=dict(_name_or_path="Qwen3-Reranker")),
    # Heads for masked tokens, of which sparse vectors are made.
    "bert_masked": encoder("BertForMaskedLM", BERT, gguf=None, unseen=MASKED_UNSEEN),
    "distilbert_masked": encoder("DistilBertForMaskedLM", dict(
        n_layers=2, dim=24, n_heads=4, hidden_dim=40, vocab_size=264, max_position_embeddings=64), gguf=None, unseen=MASKED_UNSEEN),
    "modernbert_masked": encoder("ModernBertForMaskedLM", dict(
        num_hidden_layers=4, hidden_size=24, num_attention_heads=2, intermediate_size=32, vocab_size=264, max_position_embeddings=64,
        local_attention=20, pad_token_id=0, bos_token_id=256, eos_token_id=257, cls_token_id=256, sep_token_id=257, tie_word_embeddings=False),
        gguf=None),
    "roberta_masked": encoder("XLMRobertaForMaskedLM", dict(BERT, type_vocab_size=1, pad_token_id=1, max_position_embeddings=66, num_hidden_layers=2),
                              gguf=None, unseen=MASKED_UNSEEN),
    "bert": encoder("BertModel", BERT, unseen=r"^pooler\.|key\.bias$"),
}

BART = dict(d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=40,
            decoder_ffn_dim=32, vocab_size=264, max_position_embeddings=64, pad_token_id=1, bos_token_id=256, eos_token_id=257,
            forced_eos_token_id=257, decoder_start_token_id=257)


def encoder_decoder(model, config, **more):
    """Sources of a single token, of fewer than a block of the cache, and of more. Keys with a bias give the same."""
    more = {"gguf": None, "unseen": r"k_proj\.bias$", **more}
    return Fixture(model, config, is_encoder_decoder=True, prompt_lengths=(1, 13, 41), **more)


T5 = dict(d_model=20, d_kv=6, d_ff=40, num_layers=3, num_decoder_layers=2, num_heads=3, vocab_size=264, relative_attention_num_buckets=8,
          relative_attention_max_distance=20, layer_norm_epsilon=1e-6, feed_forward_proj="relu", pad_token_id=1, eos_token_id=257,
          decoder_start_token_id=1, n_positions=64)
T5_GAINS = {r"\.q\.weight$": 0.3}  # scores are not scaled

ENCODER_DECODERS = {
    "bart": encoder_decoder("BartForConditionalGeneration", dict(BART, scale_embedding=True), visible=(dict(scale_embedding=False),),
                            gains={r"encoder_attn\.q_proj\.bias": 4, r"encoder_attn\.[qk]_proj\.weight": 2}),
    "m2m100": encoder_decoder("M2M100ForConditionalGeneration", BART, visible=(dict(scale_embedding=False), dict(activation_function="gelu"))),
    "marian": encoder_decoder("MarianMTModel", dict(BART, activation_function="swish", scale_embedding=True), constant="embed_positions",
                              visible=(dict(activation_function="gelu"),)),
    "mbart": encoder_decoder("MBartForConditionalGeneration", BART, visible=(dict(activation_function="relu"),)),
    "pegasus": encoder_decoder("PegasusForConditionalGeneration", BART, constant="embed_positions"),
    # GGUF has no key for the largest distance: it is 128.
    "t5": encoder_decoder("T5ForConditionalGeneration", dict(T5, relative_attention_max_distance=128), gguf=LLAMA_CPP, unseen=None, gains=T5_GAINS, visible=(
        dict(tie_word_embeddings=False), dict(relative_attention_max_distance=40))),
    "t5_v1_1": encoder_decoder("T5ForConditionalGeneration", dict(
        T5, feed_forward_proj="gated-gelu", num_decoder_layers=None, tie_word_embeddings=False), unseen=None, gains={r"\.q\.weight$": 0.2}, has_own_head=True,
        published_config=dict(tie_word_embeddings=False, scale_decoder_outputs=None, is_gated_act=True, dense_act_fn="gelu_new"),
        visible=(dict(relative_attention_max_distance=40), dict(feed_forward_proj="gated-relu"))),
}

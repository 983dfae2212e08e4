"""The parity fixtures' families: for each a transformers class, a tiny configuration, and what is to be seen in its logits."""

from parity_encoder_models import ENCODERS, ENCODER_DECODERS
from parity_fixture import GEMMA3, LLAMA_CPP, NULL, SMALL, Fixture, rope

COMMON = dict(num_hidden_layers=3, hidden_size=48, num_attention_heads=4, num_key_value_heads=2, intermediate_size=80,
              vocab_size=264, max_position_embeddings=128, rms_norm_eps=1e-5, hidden_act="silu",
              bos_token_id=256, eos_token_id=257, pad_token_id=None, tie_word_embeddings=False)
MOE = dict(num_hidden_layers=2, num_experts=8, num_experts_per_tok=3)
SLIDING, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"  # types of layers


def first(model, gguf, element_type, config):
    """The first fixtures: larger, GGUF by the writer of parity_files.py, which kept them from changing."""
    return Fixture(model + "ForCausalLM", {**COMMON, **config}, element_type, gguf, (2, 23, 43), 6)


FIXTURES = {
    "llama2": first("Llama", "llama", "F32", dict(num_key_value_heads=4, intermediate_size=72, rope_parameters=rope())),
    "llama3": first("Llama", "llama", "BF16", dict(
        tie_word_embeddings=True, rope_parameters=rope("llama3", 500000.0, factor=8.0, low_freq_factor=1.0,
                                                       high_freq_factor=4.0, original_max_position_embeddings=16))),
    "llama_linear": first("Llama", "llama", "F16", dict(rope_parameters=rope("linear", factor=4.0))),
    "llama_yarn": first("Llama", "llama", "BF16", dict(
        head_dim=32, max_position_embeddings=64,
        rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=16))),
    "llama_partial_rotary": first("Llama", "llama", "BF16", dict(
        head_dim=16, rope_parameters=rope(partial_rotary_factor=0.5))),
    "mistral": first("Mistral", "llama", "BF16", dict(sliding_window=12, head_dim=20, rope_parameters=rope(theta=1e6))),
    "mixtral": first("Mixtral", "llama", "BF16", dict(
        num_hidden_layers=2, num_local_experts=6, num_experts_per_tok=2, intermediate_size=40, head_dim=12,
        sliding_window=None, rope_parameters=rope(theta=1e6))),
    "qwen2": first("Qwen2", "qwen2", "F16", dict(tie_word_embeddings=True, rope_parameters=rope(theta=1e6))),
    "qwen3": first("Qwen3", "qwen3", "BF16", dict(head_dim=16, num_attention_heads=6, rope_parameters=rope(theta=1e6))),
    "qwen3_moe": first("Qwen3Moe", "qwen3moe", "BF16", dict(
        MOE, head_dim=16, moe_intermediate_size=40, norm_topk_prob=True, rope_parameters=rope(theta=1e6))),
    "olmoe": first("Olmoe", "olmoe", "F32", dict(
        MOE, intermediate_size=24, norm_topk_prob=False, num_key_value_heads=4, rope_parameters=rope())),
}
SHARDED = "llama2"  # written in several shards with an index
FUSED_EXPERTS = "qwen3_moe"  # written with transformers 5's fused expert tensors; the others as on the hub


def of(model, config, without=(), **more):
    """SMALL, but for keys that the family has not, and what it has besides."""
    return Fixture(model, {**{key: value for key, value in SMALL.items() if key not in without}, **config}, **more)


COHERE2_MOE = dict(
    num_hidden_layers=4, hidden_size=16, head_dim=6, intermediate_size=8, num_experts=5, num_experts_per_tok=2, num_shared_experts=2,
    mlp_layer_types=["dense"] + ["sparse"] * 3, layer_types=[FULL, SLIDING, SLIDING, FULL], logit_scale=0.3, sliding_window=10,
    rope_parameters=rope())
DELTA_NET_VISION = dict(depth=1, hidden_size=8, intermediate_size=8, num_heads=2, patch_size=4, out_hidden_size=16,
                        num_position_embeddings=4, temporal_patch_size=1)
TINY_VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)

PHIMOE = dict(
    num_hidden_layers=2, hidden_size=16, intermediate_size=12, num_local_experts=6, num_experts_per_tok=2, router_jitter_noise=0.01,
    attention_bias=True, lm_head_bias=True, tie_word_embeddings=False, sliding_window=64, rope_parameters=rope(
        "longrope", original_max_position_embeddings=64, short_factor=[1.0, 1.3], long_factor=[1.0, 3.0],
        short_mscale=(1 + 1 / 6)**0.5, long_mscale=(1 + 1 / 6)**0.5))
GRANITE = dict(embedding_multiplier=3.0, attention_multiplier=0.2, residual_multiplier=0.6, logits_scaling=4.0,
               rope_parameters=rope())
GRANITE_MOE = dict(GRANITE, num_hidden_layers=2, intermediate_size=16, num_local_experts=6, num_experts_per_tok=2)
MAMBA, ATTENTION = "linear_attention", "full_attention"
GRANITE_HYBRID = dict(
    GRANITE, hidden_size=16, layer_types=[MAMBA, ATTENTION, MAMBA], num_local_experts=0, num_experts_per_tok=0, intermediate_size=24,
    shared_intermediate_size=24, position_embedding_type="nope", mamba_n_heads=4, mamba_d_head=8, mamba_n_groups=2, mamba_d_state=8,
    mamba_chunk_size=16)
GRANITE_HYBRID_TYPES = dict(layer_types=["mamba", "attention", "mamba"])  # as published
NEMOTRON_H = dict(
    hidden_size=16, head_dim=8, intermediate_size=24, layer_norm_epsilon=1e-4, ssm_state_size=8, mamba_num_heads=8, mamba_head_dim=8,
    n_groups=2, time_step_min=1e-6, chunk_size=16, tie_word_embeddings=False)
FALCON_H1 = dict(
    num_hidden_layers=2, hidden_size=16, head_dim=8, mamba_d_ssm=24, mamba_n_heads=4, mamba_d_head=6, mamba_n_groups=2, mamba_d_state=8,
    mamba_chunk_size=16, tie_word_embeddings=False, rope_parameters=rope(theta=1e5))
# Powers of two, which llama.cpp's converter multiplies weights with without rounding.
FALCON_H1_FACTORS = dict(
    embedding_multiplier=2.0, lm_head_multiplier=0.5, key_multiplier=0.5, attention_in_multiplier=2.0, attention_out_multiplier=0.5,
    ssm_in_multiplier=0.5, ssm_out_multiplier=2.0, mlp_multipliers=[2.0, 0.5], ssm_multipliers=[2.0, 0.5, 4.0, 1.0, 2.0])
MAMBA_GAINS = {"A_log": 4}  # heads that forget at once, and others that hardly do
MINISTRAL_ROPE = rope("yarn", 1000.0, factor=16.0, original_max_position_embeddings=8, max_position_embeddings=128, beta_fast=32.0,
                      beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.4)
GEMMA4 = dict(hidden_size=16, head_dim=6, global_head_dim=12, sliding_window=10, final_logit_softcapping=4.0, rope_parameters=dict(
    full_attention=rope("proportional", 1e6, partial_rotary_factor=0.5), sliding_attention=rope()))
PER_LAYER_CONFIG = dict(global_head_dim=12, per_layer_config=None)  # as published
LATENT = dict(hidden_size=16, num_attention_heads=2, num_key_value_heads=2, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
              v_head_dim=6, first_k_dense_replace=1, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3,
              moe_intermediate_size=8)
LATENT_ROPE = rope("yarn", 1000.0, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0)
LLAMA4 = dict(num_hidden_layers=4, hidden_size=16, head_dim=6, intermediate_size=12, intermediate_size_mlp=20, num_local_experts=4,
              num_experts_per_tok=1, interleave_moe_layer_step=2, rope_parameters=rope(theta=5e5))
DELTA_NET = dict(num_hidden_layers=4, hidden_size=16, head_dim=8, num_key_value_heads=1, layer_types=[LINEAR, LINEAR, FULL, LINEAR],
                 linear_conv_kernel_dim=4, linear_key_head_dim=6, linear_value_head_dim=6, linear_num_key_heads=2,
                 linear_num_value_heads=4, rope_parameters=rope(theta=1e6, partial_rotary_factor=0.5))
DELTA_NET_MIXTURE = dict(DELTA_NET, num_hidden_layers=3, layer_types=[LINEAR, FULL, LINEAR], num_experts=6, num_experts_per_tok=2,
                         moe_intermediate_size=8, shared_expert_intermediate_size=12)
STARCODER2 = dict(norm_epsilon=1e-4, use_bias=True, sliding_window=None, rope_parameters=rope())
OLD = ("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size",
       "max_position_embeddings", "rms_norm_eps")  # keys that are not these models'
OLMO3_ROPE = dict(sliding_attention=rope(theta=500.0), full_attention=rope(
    "yarn", 500.0, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, attention_factor=1.2))

FIXTURES |= {
    "gemma3": of("Gemma3ForCausalLM", GEMMA3, plus_one=True, visible=(
        dict(sliding_window=64), dict(layer_types=[SLIDING] * 6),
        dict(rope_parameters=dict(full_attention=rope(theta=1e6), sliding_attention=rope(theta=10000.0))),
        dict(rope_parameters=dict(full_attention=rope("linear", 1e6, factor=8.0), sliding_attention=rope(theta=1e6))))),
    # Few scores are near the cap of 50 of the published models: it is lower here.
    "gemma2": of("Gemma2ForCausalLM", dict(
        num_hidden_layers=4, hidden_size=16, head_dim=10, query_pre_attn_scalar=10, sliding_window=10,
        attn_logit_softcapping=1.5, final_logit_softcapping=3.0), plus_one=True, visible=(
            dict(sliding_window=64), dict(attn_logit_softcapping=None), dict(final_logit_softcapping=None))),
    # The text of a model that sees. GGUF has no key for the scale of the scores, hence none here.
    "gemma3_conditional": Fixture("Gemma3ForConditionalGeneration", dict(
        text_config={**SMALL, **GEMMA3, "query_pre_attn_scalar": 10}, vision_config=TINY_VISION, mm_tokens_per_image=4,
        image_token_index=260, boi_token_index=261, eoi_token_index=262, bos_token_id=256, eos_token_id=257),
        gguf=None, plus_one=True, unseen="vision_tower|multi_modal_projector"),
    "gpt_oss": of("GptOssForCausalLM", dict(
        num_hidden_layers=2, hidden_size=32, head_dim=8, intermediate_size=32, num_local_experts=4, num_experts_per_tok=2,
        sliding_window=10, rope_parameters=rope("yarn", 1000.0, factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
                             original_max_position_embeddings=64)),
        mxfp4=r"mlp\.experts\.(gate_up|down)_proj$", gains={"gate_up_proj": 4, "down_proj$": 0.2, "sinks": 2}, visible=(
            dict(sliding_window=64), dict(swiglu_limit=100.0), dict(rope_parameters=rope(theta=1000.0)),
            dict(rope_parameters=rope("yarn", 1000.0, factor=8.0, beta_fast=32.0, beta_slow=1.0,
                                      original_max_position_embeddings=64))),
        published_config=dict(quantization_config=dict(quant_method="mxfp4", modules_to_not_convert=[
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]))),
    "phi3": of("Phi3ForCausalLM", dict(sliding_window=10, tie_word_embeddings=False, rope_parameters=rope()),
        visible=(dict(sliding_window=None),)),
    "phi4_mini": of("Phi3ForCausalLM", dict(
        hidden_size=32, num_hidden_layers=2, original_max_position_embeddings=64, rope_parameters=rope(
            "longrope", partial_rotary_factor=0.75, original_max_position_embeddings=64, short_factor=[1.0, 1.3, 1.7],
            long_factor=[1.0, 3.0, 9.0])),
        visible=(
            dict(rope_parameters=rope(partial_rotary_factor=0.75)),
            dict(original_max_position_embeddings=16, rope_parameters=rope(
                "longrope", partial_rotary_factor=0.75, original_max_position_embeddings=16, short_factor=[1.0, 1.3, 1.7],
                long_factor=[1.0, 3.0, 9.0])))),
    # The published file's mscales are not what llama.cpp's converter computes: here they are.
    "phimoe": of("PhimoeForCausalLM", PHIMOE, published_class="PhiMoEForCausalLM", visible=(dict(router_jitter_noise=0.2),)),
    # GGUF has no key for the jitter, which decides whose scores count.
    "phimoe_jitter": of("PhimoeForCausalLM", dict(PHIMOE, router_jitter_noise=0.2), gguf=None, published_class="PhiMoEForCausalLM",
                        visible=(dict(router_jitter_noise=0.01),)),
    "granite": of("GraniteForCausalLM", GRANITE, visible=(
        dict(embedding_multiplier=1.0), dict(attention_multiplier=6**-0.5), dict(residual_multiplier=1.0))),
    "granitemoe": of("GraniteMoeForCausalLM", GRANITE_MOE),
    "granitemoeshared": of("GraniteMoeSharedForCausalLM", dict(GRANITE_MOE, intermediate_size=12, shared_intermediate_size=20)),
    "granitemoehybrid": of("GraniteMoeHybridForCausalLM", dict(
        GRANITE, num_hidden_layers=2, hidden_size=32, intermediate_size=40, num_local_experts=0, num_experts_per_tok=0,
        shared_intermediate_size=40, layer_types=["attention"] * 2, position_embedding_type="rope", mamba_n_heads=8),
        plain_config=True, published_config=dict(layer_types=["attention"] * 2), visible=(dict(position_embedding_type="nope"),)),
    "ministral3": of("Ministral3ForCausalLM", dict(
        head_dim=8, rope_parameters=MINISTRAL_ROPE), visible=(
            dict(rope_parameters={**MINISTRAL_ROPE, "llama_4_scaling_beta": 0.0}), dict(rope_parameters={
                **MINISTRAL_ROPE, "mscale_all_dim": None}))),
    "mistral3_conditional": Fixture("Mistral3ForConditionalGeneration", dict(
        text_config=dict(SMALL, model_type="mistral", head_dim=8, sliding_window=None, rope_parameters=rope(theta=1e6)),
        vision_config=dict(TINY_VISION, model_type="pixtral", head_dim=4), image_token_index=260, spatial_merge_size=2,
        bos_token_id=256, eos_token_id=257), unseen="vision_tower|multi_modal_projector"),
    "smollm3": of("SmolLM3ForCausalLM", dict(
        num_hidden_layers=5, hidden_size=16, num_key_value_heads=1, rope_parameters=rope(theta=2e6)), visible=(
            dict(no_rope_layers=[1] * 5),)),
    "lfm2": of("Lfm2ForCausalLM", dict(
        num_hidden_layers=4, hidden_size=16, layer_types=["conv", FULL, "conv", "conv"], conv_L_cache=3, conv_bias=False, norm_eps=1e-4,
        block_auto_adjust_ff_dim=True, block_multiple_of=8, block_ffn_dim_multiplier=1.5, rope_parameters=rope(theta=1e4)),
        without=("rms_norm_eps",), prompt_lengths=(2, 43), visible=(dict(rope_parameters=rope(theta=500.0)),)),
    "lfm2_bias": of("Lfm2ForCausalLM", dict(
        layer_types=[FULL, "conv", "conv"], conv_L_cache=4, conv_bias=True, norm_eps=1e-4, block_auto_adjust_ff_dim=False,
        tie_word_embeddings=False, rope_parameters=rope(theta=1e4)), without=("rms_norm_eps",), gguf=None),
    "lfm2_moe": of("Lfm2MoeForCausalLM", dict(
        hidden_size=16, layer_types=["conv", FULL, "conv"], conv_L_cache=3, conv_bias=False, norm_eps=1e-4, num_dense_layers=1,
        moe_intermediate_size=8, num_experts=6, num_experts_per_tok=2, norm_topk_prob=True, use_expert_bias=True,
        routed_scaling_factor=1.0, rope_parameters=rope(theta=1e4)), without=("rms_norm_eps",), gains={"expert_bias": 0.3}, visible=(
            dict(routed_scaling_factor=2.0), dict(norm_topk_prob=False))),
    "granitehybrid": of("GraniteMoeHybridForCausalLM", GRANITE_HYBRID, plain_config=True, published_config=GRANITE_HYBRID_TYPES,
                        gains=MAMBA_GAINS, prompt_lengths=(2, 43), visible=(dict(position_embedding_type="rope"),)),
    "granitehybrid_moe": of("GraniteMoeHybridForCausalLM", dict(
        GRANITE_HYBRID, intermediate_size=8, num_local_experts=6, num_experts_per_tok=2, mamba_conv_bias=True, mamba_d_conv=3),
        plain_config=True, published_config=GRANITE_HYBRID_TYPES, gains=MAMBA_GAINS),
    "mamba2": of("Mamba2ForCausalLM", dict(
        num_hidden_layers=3, hidden_size=16, num_heads=4, head_dim=8, state_size=8, n_groups=2, layer_norm_epsilon=1e-4, chunk_size=16,
        tie_word_embeddings=False), without=OLD, gains=MAMBA_GAINS, prompt_lengths=(2, 43)),
    "mamba2_bias": of("Mamba2ForCausalLM", dict(
        num_hidden_layers=2, hidden_size=16, num_heads=2, head_dim=16, state_size=8, n_groups=1, layer_norm_epsilon=1e-4, chunk_size=16,
        conv_kernel=3, use_bias=True, use_conv_bias=False), without=OLD, gguf=None, gains=MAMBA_GAINS),
    "nemotron_h": of("NemotronHForCausalLM", dict(
        NEMOTRON_H, layers_block_type=[MAMBA, "mlp", ATTENTION, MAMBA, "mlp"]), without=("num_hidden_layers", "rms_norm_eps"),
        gains=MAMBA_GAINS, plain_config=True, published_config=dict(
            hybrid_override_pattern="M-*M-", num_hidden_layers=5, layers_block_type=None, **dict.fromkeys((
                "num_experts_per_tok", "n_routed_experts", "n_shared_experts", "moe_intermediate_size",
                "moe_shared_expert_intermediate_size", "routed_scaling_factor", "n_group", "topk_group", "norm_topk_prob")))),
    "nemotron_h_moe": of("NemotronHForCausalLM", dict(
        NEMOTRON_H, layers_block_type=[MAMBA, "moe", ATTENTION, "moe"], n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=12,
        moe_shared_expert_intermediate_size=20, routed_scaling_factor=1.5), without=("num_hidden_layers", "rms_norm_eps"),
        gains={**MAMBA_GAINS, "e_score_correction_bias": 0.3}, plain_config=True, visible=(
            dict(routed_scaling_factor=1.0), dict(norm_topk_prob=False))),
    "falcon_h1": of("FalconH1ForCausalLM", dict(FALCON_H1, **FALCON_H1_FACTORS), gains=MAMBA_GAINS, plain_config=True, visible=(
        *(dict([(key, 1.0)]) for key in FALCON_H1_FACTORS if not key.endswith("s")), dict(mlp_multipliers=[1.0, 0.5]),
        dict(mlp_multipliers=[2.0, 1.0]), *(dict(ssm_multipliers=[
            1.5 * factor if i == place else factor for i, factor in enumerate(FALCON_H1_FACTORS["ssm_multipliers"])])
            for place in range(5)))),
    "falcon_h1_norm": of("FalconH1ForCausalLM", dict(FALCON_H1, mamba_rms_norm=True, mamba_norm_before_gate=False), gains=MAMBA_GAINS,
                         plain_config=True, visible=(dict(mamba_norm_before_gate=True),)),
    # GGUF has no key for a norm before the gate.
    "falcon_h1_pre_norm": of("FalconH1ForCausalLM", dict(
        FALCON_H1, mamba_rms_norm=True, mamba_norm_before_gate=True, attention_in_multiplier=1.3, ssm_in_multiplier=0.7), gguf=None,
        gains=MAMBA_GAINS),
    "olmo2": of("Olmo2ForCausalLM", dict(tie_word_embeddings=False, rope_parameters=rope(theta=5e5))),
    "olmo3": of("Olmo3ForCausalLM", dict(
        num_hidden_layers=4, hidden_size=16, sliding_window=10, rope_parameters=OLMO3_ROPE), visible=(
            dict(sliding_window=64), dict(rope_parameters=dict(OLMO3_ROPE, full_attention=rope(theta=500.0))),
            dict(rope_parameters=dict(OLMO3_ROPE, sliding_attention=OLMO3_ROPE[FULL])))),
    "gemma4_e2b": of("Gemma4ForCausalLM", dict(
        GEMMA4, num_hidden_layers=5, layer_types=[SLIDING, SLIDING, FULL, SLIDING, FULL], num_kv_shared_layers=2,
        use_double_wide_mlp=True, intermediate_size=12, hidden_size_per_layer_input=4, vocab_size_per_layer_input=264),
        unseen=r"layers\.4\.layer_scalar", published_config=PER_LAYER_CONFIG, visible=(
            dict(final_logit_softcapping=None), dict(num_kv_shared_layers=0, use_double_wide_mlp=False))),
    "gemma4_moe": of("Gemma4ForCausalLM", dict(
        GEMMA4, layer_types=[SLIDING, SLIDING, FULL], attention_k_eq_v=True,
        num_global_key_value_heads=1, hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=6, top_k_experts=2,
        moe_intermediate_size=10), gains={"router.proj": 2}, unseen=r"layers\.2\.layer_scalar", published_config=dict(
            PER_LAYER_CONFIG, num_global_key_value_heads=1)),
    "gemma4_dense": of("Gemma4ForCausalLM", dict(
        GEMMA4, num_hidden_layers=6, layer_types=[SLIDING] * 5 + [FULL], attention_k_eq_v=True,
        num_global_key_value_heads=1, hidden_size_per_layer_input=0), unseen=r"layers\.5\.layer_scalar", published_config=dict(
            PER_LAYER_CONFIG, num_global_key_value_heads=1), visible=(dict(sliding_window=64),)),
    "deepseek_v2": of("DeepseekV2ForCausalLM", dict(
        LATENT, q_lora_rank=None, topk_method="greedy", n_group=1, topk_group=1, norm_topk_prob=False, routed_scaling_factor=1.5,
        scoring_func="softmax", rms_norm_eps=1e-6, rope_parameters={**LATENT_ROPE, "mscale": 0.7, "mscale_all_dim": 0.7})),
    "deepseek_v2_groups": of("DeepseekV2ForCausalLM", dict(
        LATENT, q_lora_rank=12, topk_method="group_limited_greedy", n_group=4, topk_group=2, norm_topk_prob=False,
        routed_scaling_factor=1.5, scoring_func="softmax", rms_norm_eps=1e-6,
        rope_parameters={**LATENT_ROPE, "mscale": 0.7, "mscale_all_dim": 0.7})),
    "deepseek_v3": of("DeepseekV3ForCausalLM", dict(
        LATENT, q_lora_rank=12, n_group=4, topk_group=2, norm_topk_prob=True, routed_scaling_factor=1.5, scoring_func="sigmoid",
        rms_norm_eps=1e-6, num_mtp_layers=0, rope_parameters={**LATENT_ROPE, "mscale": 1.0, "mscale_all_dim": 1.0})),
    "glm4_moe_lite": of("Glm4MoeLiteForCausalLM", dict(
        LATENT, q_lora_rank=12, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.8, rms_norm_eps=1e-5,
        n_shared_experts=1, rope_parameters=rope(theta=1e6)), published_config=dict(first_k_dense_replace=1)),
    "cohere": of("CohereForCausalLM", dict(
        layer_norm_eps=1e-4, logit_scale=0.3, use_qk_norm=True, rope_parameters=rope()), without=("rms_norm_eps",)),
    "cohere2": of("Cohere2ForCausalLM", dict(
        num_hidden_layers=4, layer_norm_eps=1e-4, logit_scale=0.3, sliding_window=10, rotary_pct=1.0, rope_parameters=rope()),
        without=("rms_norm_eps",), visible=(dict(sliding_window=64), dict(layer_types=[SLIDING] * 4))),
    "cohere2_moe": of("Cohere2MoeForCausalLM", dict(
        COHERE2_MOE, layer_norm_eps=1e-4, rms_norm_eps=None, expert_selection_fn="sigmoid", prefix_dense_intermediate_size=24),
        visible=(dict(sliding_window=64), dict(norm_topk_prob=False), dict(shared_expert_combination_strategy="sum"))),
    # Of which llama.cpp's converter knows nothing.
    "cohere2_moe_sum": of("Cohere2MoeForCausalLM", dict(
        COHERE2_MOE, rms_norm_eps=1e-4, layer_types=None, mlp_layer_types=None, first_k_dense_replace=1, sliding_window_pattern=3,
        prefix_dense_sliding_window_pattern=2, shared_expert_combination_strategy="sum"), gguf=None,
        published_config=dict(layer_types=None, mlp_layer_types=None, first_k_dense_replace=1),
        visible=(dict(expert_selection_fn="sigmoid"), dict(prefix_dense_sliding_window_pattern=1))),
    "llama4": of("Llama4ForCausalLM", dict(LLAMA4, rope_parameters=rope(
        "llama3", 500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=1.0, original_max_position_embeddings=16)), visible=(
            dict(no_rope_layers=[1] * 4), dict(use_qk_norm=False))),
    # In GGUF the chunk and the step of the temperature are constants of the loader.
    "llama4_chunks": of("Llama4ForCausalLM", dict(LLAMA4, attention_chunk_size=10, floor_scale=4), gguf=None, visible=(
        dict(attention_chunk_size=64), dict(attn_temperature_tuning=False))),
    "hunyuan_v1_dense": of("HunYuanDenseV1ForCausalLM", dict(
        head_dim=8, max_position_embeddings=32768, rope_parameters=rope("dynamic", alpha=50.0, factor=1.0)),
        visible=(dict(rope_parameters=rope()),)),
    # The converter takes `alpha` for heads of 128 only.
    "hunyuan_v1_moe": of("HunYuanMoEV1ForCausalLM", dict(
        num_hidden_layers=2, hidden_size=24, head_dim=6, intermediate_size=12, moe_intermediate_size=[12] * 2, num_experts=6,
        moe_topk=[2] * 2, num_shared_expert=[1] * 2, use_mixed_mlp_moe=True, rope_parameters=rope())),
    "apertus": of("ApertusForCausalLM", dict(rope_parameters=rope(
        "llama3", 10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
        unseen=r"act_fn\.eps"),
    "nanochat": of("NanoChatForCausalLM", dict(
        num_hidden_layers=4, final_logit_softcapping=4.0, tie_word_embeddings=False, rope_parameters=rope()), gguf=None,
        visible=(dict(final_logit_softcapping=None),)),
    "exaone4": of("Exaone4ForCausalLM", dict(
        num_hidden_layers=4, hidden_size=16, sliding_window=10, layer_types=[SLIDING] * 3 + [FULL],
        rope_parameters=rope(theta=1e6)), published_config=dict(sliding_window_pattern="LLLG"),
        visible=(dict(sliding_window=64),)),
    "exaone4_small": of("Exaone4ForCausalLM", dict(
        sliding_window=None, layer_types=[FULL] * 3, rope_parameters=rope(
            "llama3", 10000.0, factor=16.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))),
    "seed_oss": of("SeedOssForCausalLM", dict(head_dim=10, attention_bias=True, rope_parameters=rope())),
    "glm4": of("Glm4ForCausalLM", dict(
        head_dim=8, attention_bias=True, rope_parameters=rope(partial_rotary_factor=0.5))),
    "glm4_moe": of("Glm4MoeForCausalLM", dict(
        hidden_size=16, head_dim=8, attention_bias=True, use_qk_norm=True, first_k_dense_replace=1, n_routed_experts=8,
        n_shared_experts=1, num_experts_per_tok=3, moe_intermediate_size=10, n_group=1, topk_group=1, routed_scaling_factor=1.5,
        norm_topk_prob=True, num_nextn_predict_layers=0, rope_parameters=rope(partial_rotary_factor=0.5))),
    "qwen2_moe": of("Qwen2MoeForCausalLM", dict(
        num_hidden_layers=2, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=10, shared_expert_intermediate_size=16,
        norm_topk_prob=False, rope_parameters=rope(theta=1e6))),
    # States that forget slowly, so that a prompt's beginning is seen at its end.
    "qwen3_next": of("Qwen3NextForCausalLM", dict(DELTA_NET_MIXTURE, norm_topk_prob=True), without=("intermediate_size",),
                     plus_one=True, gains={"A_log": 4}, visible=(dict(rope_parameters=rope(theta=1e6, partial_rotary_factor=1.0)),)),
    "qwen3_5": of("Qwen3_5ForCausalLM", dict(DELTA_NET, intermediate_size=20), plus_one=True, gains={"A_log": 4}, prompt_lengths=(37,), predicts=2,
                  published_config=dict(mtp_num_hidden_layers=1)),
    "qwen3_5_moe": of("Qwen3_5MoeForCausalLM", DELTA_NET_MIXTURE, without=("intermediate_size",), plus_one=True, gains={"A_log": 4}),
    # Of which the files of the published models are.
    "qwen3_5_moe_conditional": Fixture("Qwen3_5MoeForConditionalGeneration", dict(
        text_config={**SMALL, **DELTA_NET_MIXTURE, "rope_parameters": rope(
            theta=1e6, partial_rotary_factor=0.5, mrope_section=[1, 1, 0], mrope_interleaved=True)}, vision_config=DELTA_NET_VISION,
        image_token_id=260, video_token_id=261, vision_start_token_id=262, vision_end_token_id=263, tie_word_embeddings=True),
        gguf=None, plus_one=True, gains={"A_log": 4}, unseen="visual"),
    "ernie4_5": of("Ernie4_5ForCausalLM", dict(head_dim=8, rope_parameters=rope(theta=5e5))),
    # The converter's length of the shared experts is intermediate_size / num_key_value_heads.
    "ernie4_5_moe": of("Ernie4_5_MoeForCausalLM", dict(
        hidden_size=16, intermediate_size=32, moe_num_experts=6, moe_k=2, moe_num_shared_experts=2, moe_intermediate_size=8,
        moe_layer_start_index=1, moe_layer_end_index=-1, moe_layer_interval=1, rope_parameters=rope(theta=5e5))),
    "dots1": of("Dots1ForCausalLM", dict(
        hidden_size=16, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=8,
        first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5, n_group=1, topk_group=1, scoring_func="sigmoid",
        sliding_window=None, rope_parameters=rope(theta=1e6))),
    "minimax_m2": of("MiniMaxM2ForCausalLM", dict(
        num_hidden_layers=2, hidden_size=16, head_dim=8, intermediate_size=10, num_local_experts=6, num_experts_per_tok=2,
        rotary_dim=4, scoring_func="sigmoid", use_routing_bias=True, use_qk_norm=True, rope_parameters=rope(
            theta=1e6, partial_rotary_factor=0.5))),
    "nemotron": of("NemotronForCausalLM", dict(
        num_attention_heads=3, num_key_value_heads=1, norm_eps=1e-4, hidden_act="relu2", rope_parameters=rope(
            partial_rotary_factor=0.5)), without=("rms_norm_eps",), plus_one=True),
    "arcee": of("ArceeForCausalLM", dict(hidden_act="relu2", head_dim=8, rope_parameters=rope(
        "yarn", 10000.0, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0))),
    "mellum": of("MellumForCausalLM", dict(
        hidden_size=16, head_dim=8, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=8, sliding_window=10,
        layer_types=[SLIDING, FULL, SLIDING], rope_parameters=dict(
            full_attention=rope("yarn", 10000.0, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0),
            sliding_attention=rope())), visible=(dict(sliding_window=64),)),
    "solar_open": of("SolarOpenForCausalLM", dict(
        num_hidden_layers=2, hidden_size=16, head_dim=8, n_routed_experts=6, n_shared_experts=1, num_experts_per_tok=2,
        moe_intermediate_size=10, n_group=1, topk_group=1, routed_scaling_factor=1.5, norm_topk_prob=True, rope_parameters=rope(
            theta=1e6, partial_rotary_factor=1.0), first_k_dense_replace=0)),
    "stablelm": of("StableLmForCausalLM", dict(
        layer_norm_eps=1e-4, use_qkv_bias=True, rope_parameters=rope(partial_rotary_factor=0.34), hidden_size=24),
        without=("rms_norm_eps",)),
    # llama.cpp's converter drops the norms of heads, and then fails.
    "stablelm_parallel": of("StableLmForCausalLM", dict(
        layer_norm_eps=1e-4, qk_layernorm=True, use_parallel_residual=True, num_hidden_layers=2, hidden_size=32,
        rope_parameters=rope(partial_rotary_factor=0.5)), without=("rms_norm_eps",), gguf=None),
    "starcoder2": of("Starcoder2ForCausalLM", STARCODER2, element_type="F16", without=("rms_norm_eps",)),
    # GGUF has no key for the window.
    "starcoder2_window": of("Starcoder2ForCausalLM", dict(STARCODER2, num_hidden_layers=2, sliding_window=10),
                            without=("rms_norm_eps",), gguf=None, visible=(dict(sliding_window=None),)),
    "phi": of("PhiForCausalLM", dict(
        num_hidden_layers=2, num_key_value_heads=4, layer_norm_eps=1e-4, tie_word_embeddings=False, hidden_size=16,
        intermediate_size=64, rope_parameters=rope(partial_rotary_factor=0.5)), without=("rms_norm_eps",)),
    "gpt2": of("GPT2LMHeadModel", dict(
        n_embd=24, n_layer=2, n_head=4, n_positions=64, n_ctx=64, layer_norm_epsilon=1e-4, activation_function="gelu_new"),
        without=OLD),
    "gpt_neo": of("GPTNeoForCausalLM", dict(
        hidden_size=24, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=10, intermediate_size=48,
        max_position_embeddings=64, layer_norm_epsilon=1e-4), element_type="F32", without=OLD, gguf=None,
        visible=(dict(window_size=64),)),
    "gpt_neox": of("GPTNeoXForCausalLM", dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48, layer_norm_eps=1e-4,
        tie_word_embeddings=False, rope_parameters=rope(partial_rotary_factor=0.5)),
        plain_config=True, published_config=dict(rotary_pct=0.5, rotary_emb_base=10000), element_type="F16",
        without=("rms_norm_eps", "num_key_value_heads"), visible=(dict(use_parallel_residual=False),)),
    "gptj": of("GPTJForCausalLM", dict(
        n_embd=24, n_layer=2, n_head=3, n_positions=64, rotary_dim=4, layer_norm_epsilon=1e-4, tie_word_embeddings=False),
        without=OLD, gguf=None),
    "opt": of("OPTForCausalLM", dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, word_embed_proj_dim=24, max_position_embeddings=64,
        do_layer_norm_before=True, pad_token_id=1), element_type="F16", without=OLD, gguf=None, unseen=r"k_proj\.bias"),
    "opt_350m": of("OPTForCausalLM", dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, word_embed_proj_dim=16, max_position_embeddings=64,
        do_layer_norm_before=False, pad_token_id=1), without=OLD, gguf=None, unseen=r"k_proj\.bias"),
    "bloom": of("BloomForCausalLM", dict(hidden_size=24, n_layer=2, n_head=6, layer_norm_epsilon=1e-4, seq_length=128),
                element_type="F16", without=OLD),
    "mpt": of("MptForCausalLM", dict(
        d_model=24, n_layers=2, n_heads=6, max_seq_len=128, attn_config=dict(alibi=True, clip_qkv=1.0)),
        without=OLD, published_class="MPTForCausalLM", visible=(dict(attn_config=dict(alibi=True, clip_qkv=None)),)),
    "falcon_7b": of("FalconForCausalLM", dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, layer_norm_epsilon=1e-4, multi_query=True, parallel_attn=True,
        new_decoder_architecture=False, bias=False, alibi=False, rope_parameters=rope()), without=OLD,
        plain_config=True, published_config=dict(num_kv_heads=None)),
    "falcon_40b": of("FalconForCausalLM", dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2, layer_norm_epsilon=1e-4,
        new_decoder_architecture=True, bias=False, alibi=False, rope_parameters=rope()), without=OLD),
    "falcon_rw": of("FalconForCausalLM", dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, layer_norm_epsilon=1e-4, multi_query=False, parallel_attn=False,
        new_decoder_architecture=False, bias=True, alibi=True), element_type="F16", without=OLD, gguf=None),
    "xglm": of("XGLMForCausalLM", dict(
        d_model=24, num_layers=2, attention_heads=4, ffn_dim=48, max_position_embeddings=64, activation_function="gelu"),
        element_type="F32", without=OLD, gguf=None, unseen=r"k_proj\.bias"),
    "gemma4_conditional": Fixture("Gemma4ForConditionalGeneration", dict(
        text_config={**SMALL, **GEMMA4, "pad_token_id": 0, "attention_k_eq_v": True, "num_global_key_value_heads": 1,
                     "hidden_size_per_layer_input": 0, "layer_types": [SLIDING, SLIDING, FULL]},
        vision_config=dict(TINY_VISION, num_key_value_heads=2, head_dim=4, position_embedding_size=16), audio_config=None,
        image_token_id=260, boi_token_id=261, eoi_token_id=262, video_token_id=263, audio_token_id=259, boa_token_id=258,
        eoa_token_index=258), unseen=r"vision_tower|embed_vision|layers\.2\.layer_scalar",
        published_config=dict(text_config=dict(PER_LAYER_CONFIG, num_global_key_value_heads=1))),
    "llama4_conditional": Fixture("Llama4ForConditionalGeneration", dict(
        text_config={**SMALL, **LLAMA4}, vision_config=dict(
            TINY_VISION, vision_output_dim=8, projector_input_dim=8, projector_output_dim=8), image_token_index=260,
        boi_token_index=261, eoi_token_index=262, tie_word_embeddings=True), unseen="vision_model|multi_modal_projector"),
    "gemma": of("GemmaForCausalLM", dict(head_dim=10, num_key_value_heads=1, rope_parameters=rope()), plus_one=True),
    "olmo": of("OlmoForCausalLM", dict(clip_qkv=1.0, tie_word_embeddings=False, rope_parameters=rope()), without=("rms_norm_eps",),
               visible=(dict(clip_qkv=None),)),
    # The converter has its own epsilon, and looks for the context's length elsewhere.
    "glm": of("GlmForCausalLM", dict(
        hidden_size=32, num_hidden_layers=2, head_dim=8, rms_norm_eps=1e-5, attention_bias=True, seq_length=128,
        rope_parameters=rope(partial_rotary_factor=0.5))),
    "helium": of("HeliumForCausalLM", dict(head_dim=6, rope_parameters=rope(theta=1e5)), gguf=None),
    "cwm": of("CwmForCausalLM", dict(
        num_hidden_layers=5, hidden_size=16, head_dim=6, sliding_window=10, rope_parameters=rope(
            "llama3", 10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
        gguf=None, published_config=dict(layer_types=None), visible=(dict(sliding_window=64), dict(layer_types=[SLIDING] * 5))),
    "ministral": of("MinistralForCausalLM", dict(
        head_dim=8, sliding_window=10, layer_types=[SLIDING, FULL, SLIDING], rope_parameters=rope(theta=1e6)), gguf=None,
        visible=(dict(sliding_window=64), dict(layer_types=[SLIDING] * 3))),
    "vaultgemma": of("VaultGemmaForCausalLM", dict(
        num_hidden_layers=4, hidden_size=16, head_dim=10, query_pre_attn_scalar=12, sliding_window=10, attn_logit_softcapping=1.5,
        final_logit_softcapping=3.0, rope_parameters=rope()), plus_one=True, gguf=None, visible=(
            dict(sliding_window=64), dict(attn_logit_softcapping=None), dict(final_logit_softcapping=None),
            dict(query_pre_attn_scalar=10))),
    "gpt_bigcode": of("GPTBigCodeForCausalLM", dict(
        n_embd=24, n_layer=2, n_head=4, n_positions=64, layer_norm_epsilon=1e-4), without=OLD),
    # llama.cpp's converter takes all for models whose heads share their keys.
    "gpt_bigcode_heads": of("GPTBigCodeForCausalLM", dict(
        n_embd=24, n_layer=2, n_head=4, n_positions=64, layer_norm_epsilon=1e-4, activation_function="gelu", multi_query=False),
        without=OLD, gguf=None),
    "codegen": of("CodeGenForCausalLM", dict(
        n_embd=48, n_layer=2, n_head=8, n_positions=64, n_ctx=64, n_inner=64, rotary_dim=4, layer_norm_epsilon=1e-4),
        without=OLD, gguf=None),
    "persimmon": of("PersimmonForCausalLM", dict(
        hidden_size=32, num_hidden_layers=2, intermediate_size=48, layer_norm_eps=1e-4, rope_parameters=rope(
            theta=25000.0, partial_rotary_factor=0.5)), without=("rms_norm_eps", "num_key_value_heads"), gguf=None),
    "biogpt": of("BioGptForCausalLM", dict(num_hidden_layers=2, intermediate_size=48, max_position_embeddings=64),
                 without=("rms_norm_eps", "num_key_value_heads"), gguf=None, unseen=r"k_proj\.bias"),
    "dbrx": of("DbrxForCausalLM", dict(
        d_model=24, n_layers=2, n_heads=4, max_seq_len=128, tie_word_embeddings=False, rope_parameters=rope(),
        attn_config=dict(clip_qkv=1.0, kv_n_heads=2, rope_theta=10000.0),
        ffn_config=dict(ffn_hidden_size=12, moe_num_experts=5, moe_top_k=2)), without=OLD),
    # Corrections so large that some score is below 0: by that the search tells them from a softmax.
    "exaone_moe": of("ExaoneMoeForCausalLM", dict(
        num_hidden_layers=4, hidden_size=16, head_dim=6, intermediate_size=24, num_experts=6, num_experts_per_tok=2,
        moe_intermediate_size=8, num_shared_experts=2, first_k_dense_replace=1, routed_scaling_factor=1.5, sliding_window=10,
        rope_parameters=rope(theta=1e6)), published_config=dict(scoring_func="sigmoid"),
        gains={"e_score_correction_bias": 4}, visible=(dict(sliding_window=64), dict(routed_scaling_factor=1.0))),
    "hyperclovax": of("HyperCLOVAXForCausalLM", dict(GRANITE, logits_scaling=0.25), gguf=None, visible=(
        dict(embedding_multiplier=1.0), dict(attention_multiplier=6**-0.5), dict(residual_multiplier=1.0))),
    "flex_olmo": of("FlexOlmoForCausalLM", dict(
        num_hidden_layers=2, intermediate_size=12, num_experts=5, num_experts_per_tok=2, rope_parameters=rope(theta=5e5)),
        gguf=None),
    "jais2": of("Jais2ForCausalLM", dict(layer_norm_eps=1e-4, rope_parameters=rope(theta=5e5)), without=("rms_norm_eps",)),
}

FIXTURES |= ENCODERS | ENCODER_DECODERS

"""Names that an argument may take, for help and completion; without imports, so that neither waits.

Each is a table of an engine, which a test holds it against, or the forms of queries.
"""

LADDERS = ("matmul_exp_matmul", "matmul", "linear_relu", "softmax", "conv2d")
WORKLOADS = (
    *("matmul_exp_matmul", "matmul", "linear_relu", "two_layer_network", "softmax", "rms_norm"),
    "conv2d",
)
STRATEGIES = ("random", "blind", "evolutionary", "packing")
PROGRAMS = (
    *("rms_norm_matmul", "gated_mlp", "lora", "gqa", "qk_norm_attention", "n_trans"),
    *("attention", "stable_attention"),
)
MODELS = (
    *("rope_masked_attention", "rope_rotated_attention", "soft_capped_attention"),
    *("gated_mlp_layer", "router", "layer_norm_linear_gelu", "cross_entropy", "transformer_layer"),
)
FUSED = (
    *("rms_norm_matmul_fused", "gated_mlp_fused", "lora_fused", "lora_looped", "gqa_split_kv"),
    *("qk_norm_attention_fused", "n_trans_fused", "attention_fused", "online_softmax_attention"),
    "attention_split_kv",
)
GRAPHS = (*PROGRAMS, *MODELS, *FUSED)
SHAPES = (
    *("append_to_cache", "bias_gelu", "embedding_layer_norm", "gated_quantize", "masked_softmax"),
    *("residual_layer_norm", "residual_rms_norm", "rotary_embedding", "shifted_loss"),
    "split_heads",
)
SPECIFICATIONS = (
    *("sat_add_u8", "sat_sub_u8", "avg_round_u8", "avg_floor_u8", "absdiff_u8", "gauss_121_u8"),
    *("rshift_s16", "requant_u8", "narrow_s32", "mul_q15_wrap", "mul_q15_sat", "blend_u8"),
    *("mul_norm_u8", "avg3_u8", "box9_u8", "gauss3x3_u8", "sobel_x_u8", "sobel_u8", "dot4_u7s8"),
    *("dot4_u8s8", "dot4_s8s8", "dot4_s8s8_full", "dot2_s16", "sad8_u8", "requant_q31"),
    *("cmul_re_s16", "cmul_im_s16", "binomial5x5_u8", "alpha_blend_u8", "rgb_to_grey_u8"),
    "median3_u16",
)
LEVELS = ("avx2", "avx512", "vnni", "neon")
TARGETS = ("cpu", "cuda", "opencl", "box")
SEARCH_TARGETS = ("a100", "h100", "cpu")
STORAGES = ("float32", "float16", "bfloat16")
SHELLS = ("bash", "zsh", "fish")
SHAPE_FORMS = {  # queries of shapes, by name: an example, and the claim that this makes
    "same_shape": ("same_shape %3 %7", "equal sizes, axis by axis"),
    "same_count": ("same_count %3 %7", "equally many elements"),
    "equal_prefixes": ("equal_prefixes %3 1 %7 2", "%3 has as many rows on 1 axis as %7 on 2"),
    "is_divisible": ("is_divisible %3 8", "the number of elements is a multiple of 8"),
    "broadcast_is_redundant": ("broadcast_is_redundant %8", "the broadcast %8 repeats no element"),
    "reshape_kind": ("reshape_kind %4", "%4 is identity, expand, collapse, or else general"),
    "fits": ("fits %5 4 48K", "%5, with 4 bytes for each element, takes up to 48*1024 bytes"),
}


def shape_forms_in_words() -> str:
    """Return a line for each query of shapes."""
    lines = (f"  {form:<28}{meaning}" for form, meaning in SHAPE_FORMS.values())
    return "\n".join(("queries of values, beside formulas such as 'B*S == T':", *lines))

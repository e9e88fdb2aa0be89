"""The queries of shapes as they are typed; without imports, so that ``--help`` need not wait."""

FORMS = {  # each by its name, with an example and the claim that this makes
    "same_shape": ("same_shape %3 %7", "equal sizes, axis by axis"),
    "same_count": ("same_count %3 %7", "equally many elements"),
    "equal_prefixes": ("equal_prefixes %3 1 %7 2", "%3 has as many rows on 1 axis as %7 on 2"),
    "is_divisible": ("is_divisible %3 8", "the number of elements is a multiple of 8"),
    "broadcast_is_redundant": ("broadcast_is_redundant %8", "the broadcast %8 repeats no element"),
    "reshape_kind": ("reshape_kind %4", "%4 is identity, expand, collapse, or else general"),
    "fits": ("fits %5 4 48K", "%5, with 4 bytes for each element, takes up to 48*1024 bytes"),
}


def in_words() -> str:
    """Return a line for each query."""
    lines = (f"  {form:<28}{meaning}" for form, meaning in FORMS.values())
    return "\n".join(("queries of values, beside formulas such as 'B*S == T':", *lines))

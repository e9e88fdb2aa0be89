"""Fused mu-graphs that are known, written by hand; each computes what a workload computes.

They are what a search should find, what a verifier must accept, and what lessons draw. Where a
paper shows a graph as a picture, this is our reading of it, with names and tile sizes of our own.
"""

from __future__ import annotations

from mlc_course.errors import UsageError
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.text import parse
from mlc_course.mugraph.workloads import named

_TEXTS = (
    # Mirage, figure 3: the product does not wait for the norm; it is divided by it at the end.
    """
    rms_norm_matmul_fused(X[b=16, d=4096], G[1, d], W[d, n=6144]):
      block grid(x=256) loop(k=32):
        x = load(X, fmap={k: 1})
        g = load(G, fmap={k: 1})
        w = load(W, imap={x: 1}, fmap={k: 0})
        xg = mul(x, g)
        part = matmul(xg, w)
        product = accumulate(part)
        squares = square(x)
        sums = sum(squares, axis=1)
        total = accumulate(sums)
        thread:
          mean = scale(total, by=1/d)
          rms = sqrt(mean)
          y = div(product, rms)
        Y = store(y, omap={x: 1})
      return Y
    """,
    # Mirage, section 8.2: both products in one loop over X, which is read once.
    """
    gated_mlp_fused(X[b=8, d=4096], W1[d, n=4096], W2[d, n]):
      block grid(x=128) loop(k=64):
        x = load(X, fmap={k: 1})
        w1 = load(W1, imap={x: 1}, fmap={k: 0})
        w2 = load(W2, imap={x: 1}, fmap={k: 0})
        gate_part = matmul(x, w1)
        up_part = matmul(x, w2)
        gate = accumulate(gate_part)
        up = accumulate(up_part)
        thread:
          opened = silu(gate)
          y = mul(opened, up)
        Y = store(y, omap={x: 1})
      return Y
    """,
    # Mirage, section 8.2: X W + X A B is one product of [X | X A] with W above B.
    """
    lora_fused(X[b=16, d=256], W[d, n=4096], A[d, r=16], B[r, n]):
      block grid(x=64):
        x = load(X)
        w = load(W, imap={x: 1})
        a = load(A)
        b = load(B, imap={x: 1})
        down = matmul(x, a)
        beside = concat(x, down, axis=1)
        above = concat(w, b, axis=0)
        y = matmul(beside, above)
        Y = store(y, omap={x: 1})
      return Y
    """,
    # The same without concatenation, in a loop: B is needed only when the loop is over.
    """
    lora_looped(X[b=16, d=256], W[d, n=4096], A[d, r=16], B[r, n]):
      block grid(x=64) loop(k=4):
        x = load(X, fmap={k: 1})
        w = load(W, imap={x: 1}, fmap={k: 0})
        a = load(A, fmap={k: 0})
        b = load(B, imap={x: 1})
        base_part = matmul(x, w)
        down_part = matmul(x, a)
        base = accumulate(base_part)
        down = accumulate(down_part)
        up = matmul(down, b)
        y = add(base, up)
        Y = store(y, omap={x: 1})
      return Y
    """,
    # Mirage, section 8.2: few queries leave most of a GPU idle, so eight blocks share the keys of
    # one tile of queries, and a second kernel adds up what they found (as T. Dao et al. do in
    # Flash-Decoding, 2023).
    """
    gqa_split_kv(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      block grid(x=2, y=8, z=16) loop(k=4):
        q = load(Q, imap={x: 0, z: 1})
        k = load(K, imap={x: 0, y: 2}, fmap={k: 2})
        v = load(V, imap={x: 0, y: 1}, fmap={k: 1})
        scores = matmul(q, k)
        weights = exp(scores)
        sums = sum(weights, axis=2)
        total = accumulate(sums)
        product = matmul(weights, v)
        out = accumulate(product)
        Totals = store(total, omap={x: 0, y: 2, z: 1})
        Outs = store(out, omap={x: 0, y: 2, z: 1})
      block grid(x=2, y=16) loop(part=8):
        t = load(Totals, imap={x: 0, y: 1}, fmap={part: 2})
        o = load(Outs, imap={x: 0, y: 1}, fmap={part: 2})
        all = accumulate(t)
        whole = accumulate(o)
        share = div(whole, all)
        O = store(share, omap={x: 0, y: 1})
      return O
    """,
    # Mirage, section 8.2: norms of queries and keys inside the attention kernel.
    """
    qk_norm_attention_fused(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      block grid(x=2, y=16) loop(k=64):
        q = load(Q, imap={x: 0, y: 1})
        k = load(K, imap={x: 0}, fmap={k: 2})
        v = load(V, imap={x: 0}, fmap={k: 1})
        q_squares = square(q)
        q_total = sum(q_squares, axis=2)
        thread:
          q_mean = scale(q_total, by=1/d)
          q_rms = sqrt(q_mean)
          q_normed = div(q, q_rms)
        k_squares = square(k)
        k_total = sum(k_squares, axis=1)
        thread:
          k_mean = scale(k_total, by=1/d)
          k_rms = sqrt(k_mean)
          k_normed = div(k, k_rms)
        scores = matmul(q_normed, k_normed)
        weights = exp(scores)
        sums = sum(weights, axis=2)
        total = accumulate(sums)
        product = matmul(weights, v)
        out = accumulate(product)
        o = div(out, total)
        O = store(o, omap={x: 0, y: 1})
      return O
    """,
    # Mirage, section 8.2: one row a block, and everything stays in shared memory.
    """
    n_trans_fused(H[b=8, d=4096], X[b, d], A[b, d]):
      block grid(x=8):
        h = load(H, imap={x: 0})
        x = load(X, imap={x: 0})
        a = load(A, imap={x: 0})
        h_squares = square(h)
        h_total = sum(h_squares, axis=1)
        thread:
          h_mean = scale(h_total, by=1/d)
          h_rms = sqrt(h_mean)
          normed = div(h, h_rms)
          moved = add(normed, x)
          step = mul(a, moved)
          new = add(x, step)
        squares = square(new)
        total = sum(squares, axis=1)
        thread:
          mean = scale(total, by=1/d)
          rms = sqrt(mean)
          y = div(new, rms)
        Y = store(y, omap={x: 0})
      return Y
    """,
    # Scores never leave the block. Without a maximum, sums of exp need no correction.
    """
    attention_fused(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      block grid(x=2, y=16) loop(k=64):
        q = load(Q, imap={x: 0, y: 1})
        k = load(K, imap={x: 0}, fmap={k: 2})
        v = load(V, imap={x: 0}, fmap={k: 1})
        products = matmul(q, k)
        thread:
          scores = scale(products, by=1/sqrt(d))
          weights = exp(scores)
        sums = sum(weights, axis=2)
        total = accumulate(sums)
        product = matmul(weights, v)
        out = accumulate(product)
        o = div(out, total)
        O = store(o, omap={x: 0, y: 1})
      return O
    """,
    # Online softmax (M. Milakov, N. Gimelshein, 2018) in attention (T. Dao et al.,
    # FlashAttention, 2022): when the largest score so far grows, both sums are scaled down to it.
    """
    online_softmax_attention(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      block grid(x=2, y=16) loop(k=64):
        q = load(Q, imap={x: 0, y: 1})
        k = load(K, imap={x: 0}, fmap={k: 2})
        v = load(V, imap={x: 0}, fmap={k: 1})
        products = matmul(q, k)
        scores = scale(products, by=1/sqrt(d))
        largest = max(scores, axis=2)
        so_far = running_max(largest)
        thread:
          below = sub(scores, so_far)
          weights = exp(below)
        sums = sum(weights, axis=2)
        total = accumulate_rescaled(sums, so_far)
        product = matmul(weights, v)
        out = accumulate_rescaled(product, so_far)
        o = div(out, total)
        O = store(o, omap={x: 0, y: 1})
      return O
    """,
    # The two ideas together (Flash-Decoding): each part of the keys has a largest score of its own,
    # and the second kernel scales the parts to the largest of all before it adds them up.
    """
    attention_split_kv(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      block grid(x=2, y=8, z=16) loop(k=8):
        q = load(Q, imap={x: 0, z: 1})
        k = load(K, imap={x: 0, y: 2}, fmap={k: 2})
        v = load(V, imap={x: 0, y: 1}, fmap={k: 1})
        products = matmul(q, k)
        scores = scale(products, by=1/sqrt(d))
        largest = max(scores, axis=2)
        so_far = running_max(largest)
        top = accumulate_max(largest)
        thread:
          below = sub(scores, so_far)
          weights = exp(below)
        sums = sum(weights, axis=2)
        total = accumulate_rescaled(sums, so_far)
        product = matmul(weights, v)
        out = accumulate_rescaled(product, so_far)
        Tops = store(top, omap={x: 0, y: 2, z: 1})
        Totals = store(total, omap={x: 0, y: 2, z: 1})
        Outs = store(out, omap={x: 0, y: 2, z: 1})
      block grid(x=2, y=16) loop(part=8):
        top = load(Tops, imap={x: 0, y: 1}, fmap={part: 2})
        total = load(Totals, imap={x: 0, y: 1}, fmap={part: 2})
        out = load(Outs, imap={x: 0, y: 1}, fmap={part: 2})
        so_far = running_max(top)
        thread:
          below = sub(top, so_far)
          weight = exp(below)
        weighed_total = mul(total, weight)
        weighed_out = mul(out, weight)
        all = accumulate_rescaled(weighed_total, so_far)
        whole = accumulate_rescaled(weighed_out, so_far)
        o = div(whole, all)
        O = store(o, omap={x: 0, y: 1})
      return O
    """,
)


def published(name: str) -> KernelGraph:
    """A known fused graph at its benchmark's sizes; raises ``UsageError`` for another name."""
    if name not in _BY_NAME:
        raise UsageError(f"no published graph {name!r}", expected=" | ".join(_BY_NAME), got=name)
    return parse(_BY_NAME[name])


_BY_NAME = named(_TEXTS)

# The name of the workload that each computes.
PROGRAM_OF = {
    "rms_norm_matmul_fused": "rms_norm_matmul",
    "gated_mlp_fused": "gated_mlp",
    "lora_fused": "lora",
    "lora_looped": "lora",
    "gqa_split_kv": "gqa",
    "qk_norm_attention_fused": "qk_norm_attention",
    "n_trans_fused": "n_trans",
    "attention_fused": "attention",
    "online_softmax_attention": "stable_attention",
    "attention_split_kv": "stable_attention",
}

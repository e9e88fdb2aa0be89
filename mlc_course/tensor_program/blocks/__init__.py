"""One block of a program under the glass: what its axes promise, and whether they keep it."""

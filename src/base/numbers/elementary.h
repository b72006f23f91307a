/*
 * The exponential and the cosine of the library: IEEE operations in a fixed order, so that they
 * have the same bits with every compiler and on every machine. The logarithm is in tape.h.
 */
#ifndef EF_ELEMENTARY_H
#define EF_ELEMENTARY_H

/* e^x with a relative error below 2^-50. What would be below 2^-1022 is 0, so that nothing depends
 * on how a process treats subnormal numbers; what is too large is infinity; NaN stays NaN. */
double ef_exp(double x);

/* cos(2 pi t), in [-1, 1], with an absolute error below 2^-50; exact at multiples of 1/4. If t is a
 * whole number because no other is that large (2^52), or if it is no number, the result is 1. */
double ef_cos_turns(double t);

/* The same for sixteen numbers, with the same bits. */
void ef_cos_turns_16(const double t[16], double out[16]);

#endif

// Elementary functions whose bits are the same on every machine: only additions, multiplications,
// divisions and integer operations on IEEE doubles, in a fixed order (the project compiles with
// -ffp-contract=off). libm picks variants by processor, so whatever ends in a defined bit (RoPE
// tables, sampling) uses these. Thread-safe; the flush-to-zero mode changes nothing that they
// return.
#pragma once

namespace weft::exact {

// Within 1 ulp. 0 where the result would be below the smallest normal double; infinity above the
// largest.
double Exp(double x);
// Natural logarithm, within 1 ulp. -infinity for 0, NaN below. Denormals count as 0.
double Log(double x);
// x^y for x >= 0; the error grows with |y log x|: within 2 ulp up to 64, 10 at the ends of the
// range. NaN for x < 0.
double Pow(double x, double y);
// Within 1 ulp (near zeros of the function: 2^-52 absolute) for |x| < 2^26; NaN beyond, where
// nobody needs it.
double Sin(double x);
double Cos(double x);

}  // namespace weft::exact

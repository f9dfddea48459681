// Prices of European options: the normal distribution by a polynomial, exponentials and logarithms.
float cumulative(float x) {
  float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
  float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float c = 0.39894228f * exp(-0.5f * x * x) * p;
  return x > 0 ? 1.0f - c : c;
}
kernel void blackscholes(global const float* price, global const float* strike, global const float* years, global float* call,
                         global float* put, float rate, float volatility) {
  uint i = get_global_id(0);
  float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root), d2 = d1 - volatility * root;
  float n1 = cumulative(d1), n2 = cumulative(d2), discount = exp(-rate * t);
  call[i] = s * n1 - x * discount * n2;
  put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

package capacity

import (
	"math"
	"math/rand/v2"
)

// A zipf is a distribution of the numbers from 1 to n, of which k has a share of k^-s / Σ i^-s. It
// draws by rejection and inversion (Hörmann and Derflinger, 1996), which works for any s and takes no
// memory.
type zipf struct {
	n, s                  float64
	first, last, accepted float64
	sum                   float64 // Σ i^-s
}

// exactRanks is the number of ranks that sums take one by one. Beyond, they are integrals.
const exactRanks = 10_000

func newZipf(n int, s float64) *zipf {
	z := &zipf{n: float64(n), s: s}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(z.n + 0.5)
	z.accepted = 2 - z.inverse(z.integral(2.5)-z.weight(2))
	z.sum = z.over(func(float64) float64 { return 1 })
	return z
}

// weight returns k^-s.
func (z *zipf) weight(k float64) float64 { return math.Exp(-z.s * math.Log(k)) }

// integral returns that of the weights, and inverse its inverse.
func (z *zipf) integral(x float64) float64 {
	log := math.Log(x)
	return ratio(math.Expm1, (1-z.s)*log) * log
}

func (z *zipf) inverse(x float64) float64 {
	return math.Exp(ratio(math.Log1p, max(x*(1-z.s), -1)) * x)
}

// ratio returns f(x)/x, whose limit at 0 is 1.
func ratio(f func(float64) float64, x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 - x/2
	}
	return f(x) / x
}

// draw returns a number of the distribution.
func (z *zipf) draw(random *rand.Rand) int {
	for {
		u := z.last + random.Float64()*(z.first-z.last)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.accepted || u >= z.integral(k+0.5)-z.weight(k) {
			return int(k)
		}
	}
}

// share returns that of the number k.
func (z *zipf) share(k int) float64 { return z.weight(float64(k)) / z.sum }

// over returns Σ k^-s f(k^-s). From exactRanks on it takes f to be the same for ranks that differ by
// less than a hundredth.
func (z *zipf) over(f func(weight float64) float64) (total float64) {
	k := 1.0
	for ; k <= min(z.n, exactRanks); k++ {
		w := z.weight(k)
		total += w * f(w)
	}
	for k <= z.n {
		next := min(math.Ceil(k*1.01), z.n+1)
		total += (z.integral(next-0.5) - z.integral(k-0.5)) * f(z.weight((k+next-1)/2))
		k = next
	}
	return total
}

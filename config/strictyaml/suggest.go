package strictyaml

// longest is the length of the names that are compared, in bytes.
const longest = 64

// DidYouMean returns "; did you mean …?" with the most similar name, or "" if none is
// similar.
func DidYouMean(written string, names []string) string {
	if len(written) > longest {
		return ""
	}
	best, least := "", 1+max(2, len(written)/4)
	for _, name := range names {
		if d := distance(written, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance returns the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

package codec

// A formWriter renders the members of a Struct as form-encoded pairs (wire 7,
// "text/plain").
type formWriter struct {
	begun bool   // at least one pair has been written
	path  []byte // the escaped name of the Struct being written
}

// member appends the pairs for m; nested reports that m is inside a Struct that has a name.
func (w *formWriter) member(dst []byte, m *Member, nested bool) []byte {
	switch m.Value.Kind {
	case Null, EmptyRecord:
		return dst
	case Struct:
		length := len(w.path)
		w.path = appendName(w.path, m.Key, nested)
		for i := range m.Value.Members {
			dst = w.member(dst, &m.Value.Members[i], true)
		}
		w.path = w.path[:length]
		return dst
	default:
		return w.pair(dst, m, nested)
	}
}

// pair appends the pair for m, which must not be a Struct.
func (w *formWriter) pair(dst []byte, m *Member, nested bool) []byte {
	if w.begun {
		dst = append(dst, '&')
	}
	w.begun = true
	dst = append(dst, w.path...)
	dst = append(appendName(dst, m.Key, nested), '=')
	if m.Value.Kind == False {
		return append(dst, '0')
	}
	return appendEscaped(dst, m.Value.String())
}

// appendName appends a key to an escaped name, in brackets if it is nested.
func appendName(dst []byte, key string, nested bool) []byte {
	if !nested {
		return appendEscaped(dst, key)
	}
	dst = appendEscaped(append(dst, "%5B"...), key)
	return append(dst, "%5D"...)
}

func appendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isAlphanumeric(c), c == '-', c == '_', c == '.':
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

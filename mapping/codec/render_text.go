package codec

// appendForm renders the members of n as form-encoded pairs (wire 7,
// "text/plain"). A value that is no Struct has no name, and nothing is written.
func appendForm(dst []byte, n *Node) []byte {
	w := formWriter{dst: dst, start: len(dst)}
	w.members(n, false)
	return w.dst
}

type formWriter struct {
	dst   []byte
	start int
	path  []byte // the escaped name of the Struct being written
}

func (w *formWriter) members(n *Node, nested bool) {
	for i := range n.Members {
		m := &n.Members[i]
		switch m.Value.Kind {
		case Null, EmptyRecord:
		case Struct:
			length := len(w.path)
			w.path = appendName(w.path, m.Key, nested)
			w.members(&m.Value, true)
			w.path = w.path[:length]
		default:
			w.pair(m, nested)
		}
	}
}

func (w *formWriter) pair(m *Member, nested bool) {
	if len(w.dst) > w.start {
		w.dst = append(w.dst, '&')
	}
	w.dst = append(w.dst, w.path...)
	w.dst = append(appendName(w.dst, m.Key, nested), '=')
	if m.Value.Kind == False {
		w.dst = append(w.dst, '0')
	} else {
		w.dst = appendEscaped(w.dst, m.Value.String())
	}
}

// appendName appends a key to an escaped name, in brackets unless it is the
// first.
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

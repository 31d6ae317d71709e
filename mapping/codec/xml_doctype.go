package codec

import "strings"

// declare parses a document type declaration, without its "<!" and ">". It skips declarations of
// anything but general entities. The first declaration of an entity counts; external entities
// are never loaded.
func (e *entities) declare(directive string) bool {
	s := declaration{rest: directive}
	if !s.consume("DOCTYPE") || !s.skipBlanks() || s.name() == "" {
		return false
	}
	if s.skipBlanks() && !s.externalID(false) {
		return false
	}
	s.skipBlanks()
	if s.consume("[") {
		for !s.consume("]") {
			if !e.declareNext(&s) {
				return false
			}
		}
		s.skipBlanks()
	}
	return s.rest == ""
}

// declareNext parses one declaration of the internal subset.
func (e *entities) declareNext(s *declaration) bool {
	switch {
	case s.skipBlanks():
		return true
	case s.consume("%"): // a parameter entity, which is never loaded
		return s.name() != "" && s.consume(";")
	case s.consume("<?"):
		return s.skipPast("?>")
	case s.consume("<!ENTITY"):
		return s.skipBlanks() && e.declareEntity(s)
	case s.consume("<!ELEMENT"), s.consume("<!ATTLIST"), s.consume("<!NOTATION"):
		return s.skipBlanks() && s.skipDeclaration()
	}
	return false
}

func (e *entities) declareEntity(s *declaration) bool {
	parameter := s.consume("%")
	if parameter && !s.skipBlanks() {
		return false
	}
	name := s.name()
	if name == "" || !s.skipBlanks() {
		return false
	}
	var replacement string
	if value, ok := s.literal(); ok {
		if replacement, ok = replacementText(value); !ok {
			return false
		}
	} else if !s.externalID(true) {
		return false
	}
	s.skipBlanks()
	if !s.consume(">") {
		return false
	}
	if _, again := e.names[name]; !again && !parameter && !predefined(name) {
		e.texts[name], e.names[name] = replacement, ""
	}
	return true
}

// predefined reports whether name is a predefined entity of XML.
func predefined(name string) bool {
	switch name {
	case "lt", "gt", "amp", "quot", "apos":
		return true
	}
	return false
}

// replacementText returns the replacement text of an entity with the declared value: character
// references are replaced, entity references are not.
func replacementText(value string) (string, bool) {
	if strings.Contains(value, "%") || !validCharRefs(value) {
		return "", false
	}
	var out strings.Builder
	for {
		text, reference, found := strings.Cut(value, "&")
		out.WriteString(text)
		if !found {
			return out.String(), true
		}
		name, behind, closed := strings.Cut(reference, ";")
		if !closed || name == "" {
			return "", false
		}
		if code, ok := strings.CutPrefix(name, "#"); ok {
			char, _ := charRef(code)
			out.WriteRune(char)
		} else if nameLength(name) == len(name) {
			out.WriteString("&" + name + ";")
		} else {
			return "", false
		}
		value = behind
	}
}

// A declaration is the unparsed rest of a document type declaration.
type declaration struct{ rest string }

func (s *declaration) consume(prefix string) bool {
	rest, ok := strings.CutPrefix(s.rest, prefix)
	s.rest = rest
	return ok
}

func (s *declaration) skipBlanks() bool {
	rest := strings.TrimLeft(s.rest, " \t\r\n")
	skipped := len(rest) < len(s.rest)
	s.rest = rest
	return skipped
}

func (s *declaration) name() string {
	n := nameLength(s.rest)
	name := s.rest[:n]
	s.rest = s.rest[n:]
	return name
}

func (s *declaration) literal() (string, bool) {
	for _, quote := range []string{`"`, `'`} {
		if strings.HasPrefix(s.rest, quote) {
			value, behind, closed := strings.Cut(s.rest[1:], quote)
			if closed {
				s.rest = behind
			}
			return value, closed
		}
	}
	return "", false
}

// externalID skips an external identifier, if there is one. If it is required, externalID returns
// false without one, and also accepts the notation of an unparsed entity.
func (s *declaration) externalID(needed bool) bool {
	literals := 0
	if s.consume("SYSTEM") {
		literals = 1
	} else if s.consume("PUBLIC") {
		literals = 2
	}
	if literals == 0 {
		return !needed
	}
	for range literals {
		if !s.skipBlanks() {
			return false
		}
		if _, ok := s.literal(); !ok {
			return false
		}
	}
	if !needed || !s.skipBlanks() || !s.consume("NDATA") {
		return true
	}
	return s.skipBlanks() && s.name() != ""
}

// skipDeclaration skips the rest of a declaration, including quoted texts.
func (s *declaration) skipDeclaration() bool {
	for {
		i := strings.IndexAny(s.rest, `>"'<`)
		if i < 0 || s.rest[i] == '<' {
			return false
		}
		s.rest = s.rest[i:]
		if s.consume(">") {
			return true
		}
		if _, ok := s.literal(); !ok {
			return false
		}
	}
}

func (s *declaration) skipPast(mark string) bool {
	_, behind, found := strings.Cut(s.rest, mark)
	s.rest = behind
	return found
}

package sqlstore

// An operand is a number in units of an attribute's last decimal place. If exact, it
// equals units; otherwise it lies between units and units+1. below and above mark
// numbers that are less or greater than all values of the column.
type operand struct {
	units        int64
	exact        bool
	below, above bool
}

// parseOperand parses a number in plain notation: digits with an optional sign and an
// optional decimal point. places is the number of decimal places that the attribute
// has, limit the greatest number of units that its column can hold.
func parseOperand(s string, places int, limit int64) (o operand, ok bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	digits, fraction, point := 0, 0, false
	rest, over := false, false
	push := func(d int64) {
		if o.units > (limit-d)/10 {
			over = true
			return
		}
		o.units = o.units*10 + d
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return operand{}, false
		case point && fraction == places:
			digits++
			rest = rest || c != '0'
		default:
			digits++
			if point {
				fraction++
			}
			push(int64(c - '0'))
		}
	}
	for ; fraction < places; fraction++ {
		push(0)
	}
	switch {
	case digits == 0:
		return operand{}, false
	case over:
		return operand{below: negative, above: !negative}, true
	case negative && rest:
		return operand{units: -o.units - 1}, true
	case negative:
		return operand{units: -o.units, exact: true}, true
	default:
		return operand{units: o.units, exact: !rest}, true
	}
}

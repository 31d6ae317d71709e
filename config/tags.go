package config

import (
	"iter"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// taggedSettings returns the settings that the fields of a struct and of its nested structs define, in
// their order. The tags of a field are
//
//	setting:"log.level"        the name of the setting
//	form:"size"                how the value is written, see parseForm; otherwise by the field's type
//	choices:"debug info"       the allowed values of a string, or of each element of a list
//	default:"10s"              the value if none is given
//	range:"1s 10m"             the lowest and the highest value of a number, a size or a duration
//	pattern:"[A-Z]{3}"         a regular expression that matches all valid values
//	must:"be a code"           the rule that an error states for other values
//	flag:"log-level"           the name of the command-line flag
//	secret:"true"              see [Setting]
//	reload:"true"              see [Setting]
//	help:"Lowest severity."    see [Setting]
func taggedSettings(t reflect.Type) []Setting {
	var all []Setting
	for field := range t.Fields() {
		if strings.HasPrefix(string(field.Tag), "setting:") {
			all = append(all, newSetting(field))
		} else if field.Type.Kind() == reflect.Struct {
			for _, s := range taggedSettings(field.Type) {
				s.field = append(field.Index[:1:1], s.field...)
				all = append(all, s)
			}
		}
	}
	return all
}

// newSetting returns the setting that a field defines.
func newSetting(field reflect.StructField) Setting {
	s := Setting{Kind: kindOf(field.Type), field: field.Index}
	var limits, pattern, must string
	for key, value := range pairs(field.Tag) {
		switch key {
		case "setting":
			s.Name = value
		case "form":
			s.Kind, s.Valid = parseForm(value)
		case "choices":
			s.Choices = strings.Fields(value)
			if s.Kind = Choice; field.Type.Kind() == reflect.Slice {
				s.Kind = Choices
			}
		case "empty":
			s.MayBeEmpty = value == "true"
		case "default":
			s.Default = value
		case "default_openmage":
			s.DefaultOpenMage = value
		case "range":
			limits = value
		case "pattern":
			pattern = value
		case "must":
			must = value
		case "flag":
			s.Flag = value
		case "secret":
			s.Secret = value == "true"
		case "reload":
			s.Reload = value == "true"
		case "help":
			s.Help = value
		}
	}
	if from, to, limited := strings.Cut(limits, " "); limited {
		s.Min, s.Max = s.bound(from), s.bound(to)
	}
	if pattern != "" {
		s.Valid = matchPattern(pattern, "must "+must)
	}
	return s
}

// pairs returns the pairs of a tag. To look up each of them with [reflect.StructTag.Lookup] takes
// fifty times as long, and every command lists all settings.
func pairs(tag reflect.StructTag) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for rest := string(tag); rest != ""; {
			key, quoted, _ := strings.Cut(rest, ":")
			end := 1
			for end < len(quoted) && quoted[end] != '"' {
				if quoted[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(quoted))
			value, _ := strconv.Unquote(quoted[:end]) // go vet reports mistakes
			if !yield(strings.TrimSpace(key), value) {
				return
			}
			rest = quoted[end:]
		}
	}
}

// parseForm returns the kind and the validation that a tag "form" stands for.
func parseForm(name string) (Kind, func(string) error) {
	switch name {
	case "address":
		return Address, nil
	case "base URL":
		return URL, validBasePath
	case "decimal":
		return Decimal, nil
	case "headers":
		return Text, validHeaders
	case "rate":
		return Decimal, matchPattern(`[0-9]{1,8}(?:\.[0-9]{1,4})?`, "must be a number of requests per second such as 5 or 0.25, at most 8 digits and 4 places")
	case "share":
		return Decimal, matchPattern(`0(?:\.[0-9]{1,4})?|1(?:\.0{1,4})?`, "must be a share from 0 to 1, such as 0.01")
	case "size":
		return Size, nil
	default: // URL
		return URL, nil
	}
}

// kindOf returns the kind of the settings of a type that have no form and no choices.
func kindOf(t reflect.Type) Kind {
	switch t {
	case reflect.TypeFor[bool]():
		return Bool
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return Int
	case reflect.TypeFor[time.Duration]():
		return Duration
	case reflect.TypeFor[[]netip.Prefix]():
		return Networks
	case reflect.TypeFor[*time.Location]():
		return TimeZone
	case reflect.TypeFor[[]byte]():
		return Key
	case reflect.TypeFor[[]string]():
		return Names
	default:
		return Text
	}
}

// bound returns the number that a bound of a range is written as.
func (s Setting) bound(text string) int64 {
	s.Min, s.Max, s.Valid = math.MinInt64, math.MaxInt64, nil
	switch n, _ := s.parse(text); n := n.(type) {
	case int64:
		return n
	case time.Duration:
		return int64(n)
	default:
		return 0
	}
}

// assign sets the fields of target, a struct, to the values of the settings that they define. It leaves a
// field unchanged if its setting has no valid value.
func assign(target reflect.Value, settings []Setting, v values) {
	for _, s := range settings {
		if parsed := v[s.Name].parsed; parsed != nil && s.field != nil {
			setField(target.FieldByIndex(s.field), parsed)
		}
	}
}

func setField(field reflect.Value, parsed any) {
	text, _ := parsed.(string)
	switch to := field.Addr().Interface().(type) {
	case *int:
		*to = int(parsed.(int64))
	case *float64:
		*to, _ = strconv.ParseFloat(text, 64)
	case *slog.Level:
		_ = to.UnmarshalText([]byte(text))
	case *http.Header:
		*to, _ = parseHeaders(text)
	default:
		field.Set(reflect.ValueOf(parsed))
	}
}

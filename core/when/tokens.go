package when

// tokens are those of a text, in its order.
type tokens []token

// at returns token i if it continues the one before.
func (t tokens) at(i int) (token, bool) {
	if i >= len(t) || i > 0 && t[i].apart {
		return token{}, false
	}
	return t[i], true
}

// is reports whether tokens of these kinds follow.
func (t tokens) is(i int, kinds ...kind) bool {
	for n, k := range kinds {
		var next token
		ok := i+n < len(t)
		if ok && n == 0 {
			next = t[i]
		} else if ok {
			next, ok = t.at(i + n)
		}
		if !ok || next.kind != k {
			return false
		}
	}
	return true
}

// skip passes over fillers.
func (t tokens) skip(at int) int {
	for at < len(t) && t[at].kind == filler && !t[at].apart {
		at++
	}
	return at
}

// isYear reports whether a token is the number of a year.
func (t tokens) isYear(at int) bool {
	if !t.is(at, number) || t[at].apart {
		return false
	}
	year := t[at]
	return year.digits == 4 && year.value >= firstYear && year.value <= lastYear
}

func (t tokens) measure(at int) measure { return measure(t[at].value) }

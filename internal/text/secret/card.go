package secret

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// cardRule names numbers of payment cards.
const cardRule = "card-number"

// An issuer has cards whose numbers begin with from to to, and have one of these lengths.
type issuer struct {
	from, to string
	lengths  []int
}

var issuers = []issuer{
	{"4", "4", []int{13, 16, 19}},       // Visa
	{"51", "55", []int{16}},             // Mastercard
	{"2221", "2720", []int{16}},         //
	{"34", "34", []int{15}},             // American Express
	{"37", "37", []int{15}},             //
	{"300", "305", []int{14}},           // Diners Club
	{"36", "36", []int{14}},             //
	{"38", "39", []int{14}},             //
	{"6011", "6011", []int{16, 19}},     // Discover
	{"644", "659", []int{16, 19}},       //
	{"3528", "3589", []int{16, 19}},     // JCB
	{"62", "62", []int{16, 17, 18, 19}}, // UnionPay
	{"6759", "6759", []int{16, 18, 19}}, // Maestro
	{"6761", "6763", []int{16, 18, 19}}, //
	{"5018", "5018", []int{16, 18, 19}}, //
	{"5020", "5020", []int{16, 18, 19}}, //
	{"5038", "5038", []int{16, 18, 19}}, //
}

// minCard is the fewest digits of a number.
const minCard = 13

// cardGroups are the lengths of the groups in which cards and forms show a number.
var cardGroups = [][]int{{4, 4, 4, 4}, {4, 4, 4, 4, 3}, {4, 6, 5}, {4, 6, 4}, {6, 13}}

// isCard reports whether digits are a card's number: of a known issuer, with the right check digit.
func isCard(digits string) bool {
	if !slices.ContainsFunc(issuers, func(i issuer) bool {
		begin := digits[:min(len(i.from), len(digits))]
		return begin >= i.from && begin <= i.to && slices.Contains(i.lengths, len(digits))
	}) {
		return false
	}
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

var (
	// aboutCards is in a line about payment. A tenth of all numbers of an issuer's length have the
	// right check digit, so that of one without groups something else has to say that it is a
	// card's.
	aboutCards = lazy.Regexp(`(?i)(?:^|[^\pL\pN])(?:credit|debit|cards?|card[ _-]?(?:number|num|no|nr)|(?:credit|debit|bank)[ _-]?card|cc[ _-]?(?:number|num|no)|cvv2?|cvc|visa|master ?card|amex|american express|maestro|diners|jcb|kreditkarten?|karten?|kartennummer|tarjeta|carte|cart[aã]o|carta|kaart|kort|karta|карт[аыуе])(?:[^\pL\pN]|$)|\bpa(?:y|id|ying) (?:with|by)\b|信用卡|卡号|カード`)
	// keyOf matches the name to which a number is assigned.
	keyOf = lazy.Regexp(`([\pL_][\pL\pN_.-]*)["']?[ \t]*[:=#][ \t]*["']?$`)
	// otherKey is a name of other numbers.
	otherKey = lazy.Regexp(`(?i)(?:^|[a-z_.-])(?:id|ids|uid|ref|reference|order|invoice|trace|span|txn|transaction|time|timestamp|ts|seq|offset|size|bytes|nonce|hash|phone|tel|tracking|isbn|ean|imei)$`)
)

// findCards returns the numbers of payment cards.
func findCards(text string) (spans []span) {
	var groups []span
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		groups = digitGroups(groups[:0], text[i:])
		for at := 0; at < len(groups); {
			n := cardAt(text, i, groups, at)
			if n > 0 {
				spans = append(spans, span{i + groups[at].start, i + groups[at+n-1].end, cardRule})
			}
			at += max(n, 1)
		}
		i += groups[len(groups)-1].end
	}
	return spans
}

// cardAt returns of how many groups from one on, in text[from:], a card's number consists, 0 if of
// none.
func cardAt(text string, from int, groups []span, at int) int {
	joined := func(n int) string {
		var b strings.Builder
		for _, g := range groups[at : at+n] {
			b.WriteString(text[from+g.start : from+g.end])
		}
		return b.String()
	}
	start := from + groups[at].start
	isFree := func(n int) bool {
		end := from + groups[at+n-1].end
		return !joins(text[:start], true) && !joins(text[end:], false)
	}
	for _, lengths := range cardGroups {
		n := len(lengths)
		if at+n > len(groups) || !hasLengths(groups[at:at+n], lengths) || !isFree(n) || !isCard(joined(n)) {
			continue
		}
		if isAboutCards(text, start, from+groups[at+n-1].end) || !inTable(groups, at, n) && !isSequence(text[from:], groups[at:at+n]) {
			return n
		}
	}
	if groups[at].end-groups[at].start >= minCard && isFree(1) && isCard(joined(1)) && isAboutCards(text, start, from+groups[at].end) {
		return 1
	}
	return 0
}

// digitGroups appends the groups of digits at the beginning of a text that single spaces or dashes
// part.
func digitGroups(groups []span, text string) []span {
	for i := 0; ; {
		start := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		groups = append(groups, span{start: start, end: i})
		gap := 0
		for _, sign := range []string{" ", "-", "\u00a0", "\u202f", "\u2011", "\u2013"} {
			if strings.HasPrefix(text[i:], sign) {
				gap = len(sign)
			}
		}
		if gap == 0 || i+gap >= len(text) || !isDigit(text[i+gap]) {
			return groups
		}
		i += gap
	}
}

func hasLengths(groups []span, lengths []int) bool {
	for i, g := range groups {
		if g.end-g.start != lengths[i] {
			return false
		}
	}
	return true
}

// joins reports whether what stands before or after digits makes them a part of something longer: a
// word, a decimal, a path, an address, a number of a phone, a UUID.
func joins(beside string, before bool) bool {
	if beside == "" {
		return false
	}
	if before {
		c := beside[len(beside)-1]
		return c == '_' || c == '/' || c == '\\' || c == '.' || c == '+' || c == '@' || c == '%' || c == '$' || c == '-' || isLetter(c)
	}
	c := beside[0]
	if (c == '.' || c == ',' || c == ':') && len(beside) > 1 {
		return isDigit(beside[1]) || c != ',' && isLetter(beside[1]) // the next value of a row is a word
	}
	return c == '_' || c == '/' || c == '\\' || c == '@' || c == '%' || c == '-' || isLetter(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// inTable reports whether a group like those of a number stands beside it.
func inTable(groups []span, at, n int) bool {
	isFour := func(i int) bool { return i >= 0 && i < len(groups) && groups[i].end-groups[i].start == 4 }
	return isFour(at-1) || isFour(at+n)
}

// isSequence reports whether all groups differ and begin alike, as ports and years do.
func isSequence(text string, groups []span) bool {
	seen := map[string]bool{}
	for _, g := range groups {
		seen[text[g.start:g.end]] = true
		if text[g.start] != text[groups[0].start] {
			return false
		}
	}
	return len(seen) == len(groups)
}

// maxAbout is how far from a number its line is read, in bytes.
const maxAbout = 200

// isAboutCards reports whether the line says that a number is a card's, and no name of another
// number is assigned to it.
func isAboutCards(text string, start, end int) bool {
	from, to := max(0, start-maxAbout), min(len(text), end+maxAbout)
	if n := strings.LastIndexByte(text[from:start], '\n'); n >= 0 {
		from += n + 1
	}
	if n := strings.IndexByte(text[end:to], '\n'); n >= 0 {
		to = end + n
	}
	if key := keyOf().FindStringSubmatch(text[max(0, start-60):start]); key != nil && otherKey().MatchString(key[1]) {
		return false
	}
	return aboutCards().MatchString(text[from:to])
}

package secret

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checked appends the check digit that makes digits a card's.
func checked(digits string) string {
	for d := range 10 {
		if all := fmt.Sprint(digits, d); isCard(all) {
			return all
		}
	}
	return digits + "0"
}

// The numbers are those that issuers give for tests, or made up.
func TestCards(t *testing.T) {
	const mark = "[redacted: card-number]"
	for name, text := range map[string]string{
		"Visa":               "it is <4539 5787 6362 1486>, valid until 12/29",
		"Visa, dashes":       "it is <4539-5787-6362-1486>.",
		"no-break spaces":    "it is <4539\u00a05787\u00a06362\u00a01486>",
		"Mastercard":         "<5555 5555 5555 4444> and <2223 0031 2200 3222>",
		"American Express":   "<3782 822463 10005>",
		"Diners Club":        "<3056 930902 5904>",
		"Discover":           "<6011 1111 1111 1117>",
		"JCB":                "<3530 1113 3330 0000>",
		"19 digits":          "<6212 3456 7890 1234 " + checked("621234567890123400")[16:] + ">",
		"then the CVV":       "<4242 4242 4242 4242> 123",
		"without groups":     "my visa is <4111111111111111>, cvv 123",
		"assigned":           "card_number=<4111111111111111>",
		"in JSON":            `{"cardNumber": "<5105105105105100>", "cvc": "314"}`,
		"in German":          "Die Kreditkarte hat die Nummer <4111111111111111>",
		"in a row":           "Ada,visa,<4111111111111111>,valid",
		"paid":               "he paid with <4111111111111111>",
		"in a quote":         "“<4111 1111 1111 1111>”",
		"after a zero-width": "it is <4539\u200b 5787 6362 1486>",
		"the end of a line":  "card:\n- <4111 1111 1111 1111>\n- none",
	} {
		t.Run(name, func(t *testing.T) {
			want, in := "", strings.NewReplacer("<", "", ">", "").Replace(text)
			for i, part := range strings.Split(text, "<") {
				if i > 0 {
					_, part, _ = strings.Cut(part, ">")
					part = mark + part
				}
				want += part
			}
			got, findings := Redact(in)
			require.Equal(t, want, got)
			require.Equal(t, cardRule, findings[0].Rule)
		})
	}
}

// A number is judged by what is near it in its line, not by what is near an equal one before it.
func TestCardsOfLongLines(t *testing.T) {
	const card = "4539578763621486"
	far := strings.Repeat(", row", 60)
	for text, want := range map[string]string{
		card + far + " visa " + card:                      card + far + " visa " + Mark + cardRule + "]",
		"visa " + card + far + " " + card:                 "visa " + Mark + cardRule + "]" + far + " " + card,
		"visa" + far + " " + card + far + " visa " + card: "visa" + far + " " + card + far + " visa " + Mark + cardRule + "]",
		"visa\n" + card + "\nvisa":                        "visa\n" + card + "\nvisa",
	} {
		got, _ := Redact(text)
		require.Equal(t, want, got)
	}
}

// Numbers that are no card's stay, also if their last digit is right by chance.
func TestNoCards(t *testing.T) {
	card := "4539578763621486"
	for name, text := range map[string]string{
		"a wrong check digit":    "my visa is 4539 5787 6362 1487",
		"no issuer":              "my card is 1234 5678 9012 3452, and 9999 9999 9999 9995",
		"an ID":                  "user " + card + " has no orders; see #" + card,
		"an ID near a card":      `{"card": "visa", "id": "` + card + `", "trace_id": ` + card + "}",
		"a decimal":              "a credit of 4.539578763621486 and 4539578763621486.25",
		"a part of a word":       "card x4539578763621486 and 4539578763621486ab and card_4539578763621486",
		"a phone":                "my card is lost, call +4539578763621486 or +49 170 1234567",
		"a path":                 "the card is in /cards/4539578763621486/front.png",
		"an address":             "credit https://example.com/p/4539578763621486?x=1",
		"a UUID":                 "card 45395787-6362-4148-6111-111111111111 and 00000000-4539-5787-6362-148600000000",
		"a hash":                 "credit 4539578763621486a0b1c2d3e4f5a6b7c8d9e0f1",
		"ports":                  "ports 4000 4001 4002 " + checked("400040014002400")[12:] + " are free",
		"a table":                "4539 5787 6362 1486 4539 5787 6362 1486\n",
		"a time in milliseconds": "the card was blocked at 1795821531225",
		"dates":                  "2026-11-27 2026-11-28, 4 5 2026",
		"a long number":          "4539578763621486453957876362148645395787636214864539578763621486",
		"masked":                 "card **** **** **** 1486",
		"marked":                 mark("card-number"),
	} {
		t.Run(name, func(t *testing.T) {
			got, findings := Redact(text)
			require.Equal(t, text, got)
			require.Empty(t, findings)
		})
	}
}

func mark(rule string) string { return "paid with " + Mark + rule + "]" }

// Of the numbers of logs, none is taken for a card's.
func TestNumbersOfLogs(t *testing.T) {
	x := uint64(88172645463325252)
	next := func() uint64 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		return x
	}
	var log strings.Builder
	for range 20_000 {
		a, b := next(), next()
		fmt.Fprintf(&log, "2026-11-27T23:12:%02d.%06dZ [%d] worker-%d id=%d span=%016x trace=%08x-%04x-%04x-%04x-%012x took %d ns offset %d of %d\n",
			a%60, b%1e6, 1_700_000_000_000+a%1e11, a%64, a>>3, b, a>>32, a&0xffff, b&0xffff, b>>48, b>>16, a%1e16, 4_000_000_000_000_000+a%1e15, 5_100_000_000_000_000+b%4e14)
		fmt.Fprintf(&log, "payment %d of order %d: +49 %d %d, tel 0%d; commit %040x\n", checkedID(a), a%1e16, a%1e3, b%1e7, b%1e10, b)
	}
	lines := strings.Split(log.String(), "\n")
	_, findings := Redact(log.String())
	for _, f := range findings {
		require.Fail(t, f.Rule, lines[f.Line-1])
	}
}

// checkedID is a number that could be a card's.
func checkedID(n uint64) (id uint64) {
	_, err := fmt.Sscan(checked(fmt.Sprintf("4%014d", n%1e14)), &id)
	if err != nil {
		panic(err)
	}
	return id
}

package secret

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/lazy"
)

// Passwords have no form of their own. They are found by a grammar: a name that means a secret, a
// separator and a value: "DB_PASS=…", "the password for x is …", "| Passwort | … |".
//
// A name is a word of these lists or an identifier with such a word: smtpPass, PGPASSWORD.

// passwordWords name a password. Those of five letters and more are found in longer words, too.
var passwordWords = strings.Fields(`password passwd passwrd requirepass masterauth pswd pwd pw pass psk passphrase passcode
	passwort kennwort contraseña contrasena clave motdepasse mdp senha wachtwoord hasło haslo heslo
	lösenord losenord adgangskode kodeord passord lykilorð loyniorð salasana salasõna parool parole
	jelszó jelszo şifre sifre parola geslo lozinka heslem hasłem hasła slaptažodis slaptažodžio
	парол лозинка лозинката κωδικός סיסמה סיסמא`)

// passwordPhrases stand alone, since blanks are part of them or their scripts have none.
var passwordPhrases = []string{"mot de passe", "parola d'ordine", "pass phrase", "mật khẩu", "كلمة المرور", "كلمة السر", "رمز عبور",
	"密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "รหัสผ่าน", "पासवर्ड"}

// tokenWords name a random key. They end an identifier without its signs: access_token.
var tokenWords = strings.Fields(`token secret apikey accesskey secretkey signingkey encryptionkey authkey
	sessionid phpsessid jsessionid sessid sid csrftoken laravelsession`)

// tokenKeywords are in all tokenWords.
var tokenKeywords = strings.Fields(`token secret key session sessid sid`)

// pairWords name a user with a password: admin/x.
var pairWords = strings.Fields(`credentials creds login logon zugangsdaten identifiants credenciales`)

const cookieWord = "cookie"

// shortPass are words that "pass" can end: dbpass, but not compass.
var shortPass = strings.Fields(`user db ftp ssh smtp imap mail sql pg redis ldap root admin login key store trust auth http proxy vpn wifi`)

// about are words that make an identifier describe a secret: password_length.
var about = strings.Fields(`file files path dir hash hashes hashed policy length len min max reset url uri link field type expiry expires
	ttl age id ids name names count limit manager prompt label hint strength rule rules regex pattern format input column attempts timeout
	version algorithm alg cost salt rounds encoder encoding env var variable cmd command source ref arn lookup less word words
	through thru page form protected required enabled changed at date policies endpoint kind class provider service`)

type meaning int

const (
	nothing meaning = iota
	aPassword
	aToken
	aCookie
	aPair // user and password
)

// namedKeywords are the words that may be in a name.
func namedKeywords() []string {
	words := slices.Concat(passwordWords, passwordPhrases, tokenKeywords, pairWords, []string{cookieWord})
	for program := range passwordFlags {
		words = append(words, program)
	}
	return words
}

// maxName is the most bytes of a name on each side of its word.
const maxName = 64

// findNamed returns the secrets after names and in flags of commands. The hits are in order.
func findNamed(text, lower string, hits []hit) []span {
	var spans []span
	done := 0                    // the end of what was read as a name
	commands := map[string]int{} // the ends of the commands of a program
	for _, h := range hits {
		if flags, ok := passwordFlags[h.word]; ok {
			if h.start >= commands[h.word] {
				found, end := findFlags(text, h, flags)
				spans, commands[h.word] = append(spans, found...), end
			}
			continue
		}
		if h.start < done {
			continue
		}
		start, end := nameAround(text, h)
		done = end
		switch m := meaningOf(text[start:end], lower[start:end], h.word); m {
		case nothing:
		case aCookie:
			var found []span
			found, done = findCookies(text, end)
			spans = append(spans, found...)
		default:
			spans = append(spans, valueAfter(text, start, end, m)...)
		}
	}
	return spans
}

// A hit is a keyword in a text.
type hit struct {
	start int
	word  string
}

// nameAround returns the identifier around a keyword.
func nameAround(text string, h hit) (start, end int) {
	start, end = h.start, h.start+len(h.word)
	if slices.Contains(passwordPhrases, h.word) {
		return start, end
	}
	for start > 0 && h.start-start < maxName {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !isNameRune(r) {
			break
		}
		start -= size
	}
	for end < len(text) && end-h.start < maxName {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !isNameRune(r) {
			break
		}
		end += size
	}
	name := strings.TrimRight(text[start:end], "_-.")
	end = start + len(name)
	return end - len(strings.TrimLeft(name, "_-.")), end
}

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) && r != utf8.RuneError
}

// meaningOf returns what a name means.
func meaningOf(name, lower, word string) meaning {
	if slices.Contains(passwordPhrases, word) {
		return aPassword
	}
	parts := partsOf(name)
	if strings.HasSuffix(lower, cookieWord) {
		return aCookie
	}
	if len(parts) > 0 && slices.Contains(pairWords, parts[len(parts)-1]) {
		return aPair
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if slices.Contains(about, parts[i]) {
			return nothing
		}
		if isPasswordWord(parts[i]) {
			return aPassword
		}
		if joined := strings.Join(parts[max(0, i-2):i+1], ""); slices.ContainsFunc(tokenWords, func(w string) bool { return strings.HasSuffix(joined, w) }) {
			return aToken
		}
	}
	return nothing
}

func isPasswordWord(part string) bool {
	part = strings.TrimRight(part, "0123456789")
	for _, w := range passwordWords {
		at := strings.LastIndex(part, w)
		if at < 0 {
			continue
		}
		before, after := part[:at], part[at+len(w):]
		switch {
		case before == "" && after == "":
			return true
		case w == "pass" && after == "" && slices.Contains(shortPass, before):
			return true
		case len([]rune(w)) >= 5 && utf8.RuneCountInString(after) <= 3: // Benutzerpasswort, пароля
			return true
		}
	}
	return false
}

// partsOf splits an identifier at signs and capitals, in lower case.
func partsOf(name string) []string {
	var parts []string
	begin, before := 0, rune(0)
	cut := func(at int) {
		if part := strings.Trim(name[begin:at], "_-."); part != "" {
			parts = append(parts, strings.ToLower(part))
		}
		begin = at
	}
	for i, r := range name {
		if r == '_' || r == '-' || r == '.' || unicode.IsUpper(r) && unicode.IsLower(before) {
			cut(i)
		}
		before = r
	}
	cut(len(name))
	return parts
}

// A separator is what stands between a name and its value.
type separator struct {
	expression func() *lazy.Expression
	enough     func(value string) bool // whether a value after it is a password
	names      func() *lazy.Expression // the names that it can follow; nil: all
}

const (
	closing = "^[\"'`*_\\])]{0,4}"
	of      = `(?:[ \t]*\([^()\n]{1,30}\))?(?:[ \t]+(?:for|of|on|at|in|für|von|vom|im|am|beim|zum|zur|der|des|de|del|della|da|do|di|per|pour|para|voor|van|od|til|till|för|från|på|hos|fyrir|dla|k|ke|pro|za|na|u|от|для|к|на|до|від|за|у|в)[ \t][^\n:=|]{1,40}?|[ \t]\p{Cyrillic}+)?`
)

// separators are tried in this order.
var separators = []separator{
	{lazy.Regexp(closing + `(?:` +
		`["']?[ \t]*[,:]?[ \t]*\n?[ \t]*["']?value["']?[ \t]*[:=]` + // name: X, value: x
		`|["'][ \t]*,[ \t]*["']` + // ("password", "x")
		`|["'][^<>\n]{0,80}?[ \t]value=` + // <input type="password" value="x">
		`|\(["'` + "`" + `]` + // setPassword("x")
		`|[ \t]*:[ \t]*[\w.\[\]]{1,20}[ \t]*=[ \t]*["']` + // password: str = "x"
		`)|^["'](?:[ \t][^<>\n]{0,80})?>`), isMixed, nil}, // <property name="password">x
	{lazy.Regexp(closing + of + `[ \t]*(?:={1,3}>?|[:?]=|:|：|＝|[ \t]->|→|[ \t]\|{1,2}|\|[ \t]|%3[Dd])[ \t]*`), isMixed, nil},
	{lazy.Regexp(closing + of + `[ \t]+(?:(?:was|wurde)[ \t]+)?(?:is|was|to|ist|lautet|war|es|era|est|était|é|è|jest|brzmi|było|är|er|je|bylo|bolo|zní|znie|este|yra|ir|είναι|это|был|є|це|е|је|הוא|هي|là|है)(?:[ \t]+(?:now|set to|changed to|jetzt|nun|ahora|maintenant|agora|ora|nu|nå|nú|núna|teraz|teď|sada|zdaj|dabar|tagad|теперь|тепер|зараз|сега|сада))?[ \t]*:?[ \t]+`), isMixed, nil},
	{lazy.Regexp(closing + of + `[ \t]+(?:on|oli|var|bol)(?:[ \t]+(?:nyt|nu|nå|nú|núna|nüüd))?[ \t]*:?[ \t]+`), isMixed, northern},
	{lazy.Regexp(closing + `[ \t]*(?:就是|是|为|為|改成了?|改为|改為|设成|设为|设置为|設定為|换成了?|は|が|を|이|가|은|는|을|를)[ \t]*[:：]?`), isMixed, nil},
	{lazy.Regexp(closing + of + `[ \t]+[–—][ \t]+(?:(?:это|це|гэта|to)[ \t]+)?|` + closing + `[ \t]*:[ \t]*[|>][+-]?[ \t]*\n[ \t]*`), isMixed, nil},
	{lazy.Regexp(closing + `[ \t]+(?:til|till|na|на)[ \t]+`), isStrong, nil},
	{lazy.Regexp(closing + of + `[ \t]+-[ \t]+|` + closing + `[ \t]+`), isStrong, nil},
	{lazy.Regexp(closing + of + `[ \t]*[:：]?["'*_` + "`" + `]{0,3}[ \t]*\n(?:[ \t]*\n)?[ \t>*-]*`), isStrong, nil},
}

// northern matches names in languages whose words for "is" and "was" mean something else in others.
var northern = lazy.Regexp(`(?i)salasan|salasõna|parool|passord|lösenord|losenord|adgangskod|kodeord|lykilor|loyniorð`)

var (
	opening = lazy.Regexp("^[ \t]*(?:[*_]{1,3}[ \t]*)?(?:[rRbB]\\b)?([\"'`]{0,3})[ \t]*")
	// A bare value ends before what ends a sentence or a list.
	bare      = lazy.Regexp("^[^\\s\"'`<>|]{3,127}[^\\s\"'`<>|.,;:?)\\]}*_]")
	wholeWord = lazy.Regexp(`^[^\s"']+`)
	// The end of a value in an address or a connection string.
	next = lazy.Regexp(`[;&][\w.% -]{1,30}=`)
	// ": admin/" and ": ann@example.com:"
	userBefore = lazy.Regexp(closing + "[ \t]*[:=][ \t]*[\"'`*]{0,3}[ \t]*[A-Za-z][\\w-]{1,30}(?:@[\\w.-]{1,60})?(?:[ \t]+/[ \t]+|[/:])")
	// The beginning of a .netrc entry.
	netrc   = lazy.Regexp(`(?:\bmachine\s+\S+|\bdefault)\s+login\s+\S+\s+(?:account\s+\S+\s+)?$`)
	article = lazy.Regexp(`(?:the|our|my|das|unser|mein|your)[ \t]`)
	// "X is the root password"
	backwards = lazy.Regexp("(?:^|[\\s\"'`])([^\\s\"'`<>|\\[\\]]{6,64})[\"'`]?[ \\t]+(?:is|as|ist|als)[ \\t]+(?:the|our|my|das|unser|mein|your)[ \\t]+(?:[\\w-]+[ \\t]+)?$")
	// "the password was changed from X to Y"
	fromTo = lazy.Regexp("^[^\\n.:;]{0,60}?[ \\t](?:from|von)[ \t]+([\"'`]?[^\\s\"'`]{6,64}[\"'`]?)[ \t]+(?:to|auf|in|zu)[ \t]+([\"'`]?[^\\s\"'`]{6,64})")
	user   = lazy.Regexp(`\b(?:login|user|username)[ \t]+[\w.@-]{2,}[ \t]+$`)
)

const maxValue = 128

// Indexes in separators.
const (
	equals = 1
	blank  = 7
)

const (
	maxBefore = 200 // bytes that are looked at before a name
	maxAfter  = 400 // and after it
)

// valueAfter returns the secret that follows a name, if one does.
func valueAfter(text string, start, end int, m meaning) []span {
	before, after := text[max(0, start-maxBefore):start], text[end:min(len(text), end+maxAfter)]
	if strings.HasSuffix(before, "/etc/") || strings.HasSuffix(before, Mark) {
		return nil
	}
	if column := columnUnder(text, start, end, m); column != nil {
		return column
	}
	if m == aPair {
		if at := userBefore().FindStringIndex(after); at != nil {
			return takeValue(text, end+at[1], aPassword, isMixed)
		}
		return nil
	}
	if strings.HasPrefix(after, ">") && strings.HasSuffix(before, "<") {
		return takeValue(text, end+1, m, isMixed)
	}
	isEquals := strings.HasPrefix(after, "=") // no other separator begins so
	for i, s := range separators {
		if isEquals && i != equals || s.names != nil && !s.names().MatchString(text[start:end]) {
			continue
		}
		at := s.expression().FindStringIndex(after)
		if at == nil {
			continue
		}
		enough := s.enough
		if i == blank {
			switch {
			case strings.Contains(before, "login") && netrc().MatchString(before):
				enough = isAny
			case strings.HasSuffix(before, "-") || strings.HasSuffix(before, "/") || userNames(before) && user().MatchString(before):
				enough = isMixed
			case m == aToken:
				continue
			}
		}
		from := end + at[1]
		if c := text[from-1]; c == '"' || c == '\'' || c == '`' {
			from-- // takeValue reads quotes
		}
		if found := takeValue(text, from, m, enough); found != nil {
			return found
		}
	}
	if m != aPassword {
		return nil
	}
	return valueAround(text, start, end, before, after)
}

// valueAround returns passwords that a sentence has apart from their name: "from X to Y", "X is the
// password".
func valueAround(text string, start, end int, before, after string) []span {
	const m = aPassword
	if both := fromTo().FindStringSubmatchIndex(after); both != nil {
		return append(takeValue(text, end+both[2], m, isStrong), takeValue(text, end+both[4], m, isStrong)...)
	}
	if !article().MatchString(before[max(0, len(before)-30):]) {
		return nil
	}
	if at := backwards().FindStringSubmatchIndex(before); at != nil {
		value := before[at[2]:at[3]]
		if s := shapeOf(value); s.digits > 0 && s.letters > 0 && isMixed(value) && !words().MatchString(value) && !isStandIn(value) {
			from := start - len(before) + at[2]
			return []span{{from, from + len(value), nameOf(m)}}
		}
	}
	return nil
}

// maxTable is the most bytes of a table that are read.
const maxTable = 4 << 10

// A grid is a way to write a table: a sign parts the cells of a row.
type grid struct {
	sign string
	head func() *lazy.Expression // what stands before a name in the head
	rest func() *lazy.Expression // the rest of the head, and a line under it
}

var grids = []grid{
	// Markdown, and the clients of databases.
	{"|", lazy.Regexp(`^[^\n]*$`), lazy.Regexp(`^[^|\n]{0,40}(?:\|[^\n]*)?\r?\n[ \t>]*[|+]?[ \t]*:?-{2,}[-:|+ \t]*\r?\n`)},
	{"\t", lazy.Regexp(`^(?:[\w ."-]{1,40}\t)*"?$`), lazy.Regexp(`^"?(?:\t[\w ."-]{1,40})*\r?\n`)},
	{";", lazy.Regexp(`^(?:[\w."-]{1,40};)*"?$`), lazy.Regexp(`^"?(?:;[\w."-]{1,40})*\r?\n`)},
	{",", lazy.Regexp(`^(?:[\w."-]{1,40},)*"?$`), lazy.Regexp(`^"?(?:,[\w."-]{1,40})*\r?\n`)},
}

// columnUnder returns the secrets of a table's column that a name heads.
func columnUnder(text string, start, end int, m meaning) []span {
	head := text[max(0, start-maxBefore):start]
	head = head[strings.LastIndexByte(head, '\n')+1:]
	rest := text[end:min(len(text), end+maxTable)]
	line, _, more := strings.Cut(rest, "\n")
	for _, g := range grids {
		before := strings.Count(head, g.sign)
		if all := before + strings.Count(line, g.sign); !more || all == 0 || !g.head().MatchString(head) {
			continue
		}
		if under := g.rest().FindStringIndex(rest); under != nil {
			return g.column(text, end+under[1], end+len(rest), before, m)
		}
	}
	return nil
}

// column returns the secrets of a column from the rows of a table on.
func (g grid) column(text string, at, end, before int, m meaning) (spans []span) {
	for row := range strings.Lines(text[at:end]) {
		if !strings.Contains(row, g.sign) {
			break
		}
		if cells := strings.SplitAfterN(row, g.sign, before+1); len(cells) > before {
			cell, _, _ := strings.Cut(cells[before], g.sign)
			from := at + len(row) - len(cells[before])
			spans = append(spans, takeValue(text[:from+len(cell)], from, m, isMixed)...)
		}
		at += len(row)
	}
	return spans
}

// userNames reports whether a text may name a user. It is faster than the expression.
func userNames(text string) bool {
	return strings.Contains(text, "login") || strings.Contains(text, "user")
}

// takeValue returns the value at an offset if it is a secret.
func takeValue(text string, at int, m meaning, enough func(string) bool) []span {
	rest := text[at:min(len(text), at+maxAfter)]
	open := opening().FindStringSubmatchIndex(rest)
	at, rest = at+open[1], rest[open[1]:]
	value, all := bare().FindString(rest), ""
	if open[3] > open[2] {
		quote := text[at-1]
		if end := strings.IndexAny(rest, string(quote)+"\n"); end >= 4 && rest[end] == quote {
			all = rest[:end]
			value, _, _ = strings.Cut(all, " ")
		}
	}
	if value == "" {
		return nil
	}
	if cut := next().FindStringIndex(value); cut != nil {
		value, all = value[:cut[0]], value[:cut[0]]
	}
	if m == aToken {
		enough = isRandom
	}
	if strings.Contains(rest[:min(len(rest), len(value)+len(Mark))], Mark[:len(Mark)-2]) || !enough(value) || isStandIn(value) {
		return nil
	}
	if all == "" && isCode(wholeWord().FindString(rest[:min(len(rest), maxValue)])) {
		return nil
	}
	return []span{{at, at + max(len(value), len(all)), nameOf(m)}}
}

func nameOf(m meaning) string {
	switch m {
	case aToken:
		return "token"
	case aCookie:
		return "cookie"
	}
	return "password"
}

var (
	pair      = lazy.Regexp(`([\w.%-]{1,64})=([^\s;,"'<>]{8,})`)
	attribute = lazy.Regexp(`(?i)^(?:path|domain|expires|max-age|samesite|priority|version|lang|theme|locale|_ga\w*|utm_\w+|consent)$`)
	cookies   = lazy.Regexp(`^["'*_]{0,3}[ \t]*(?:[:=]|[ \t])[ \t]*["']?([^\n"']{8,})`)
)

// findCookies returns the values in a Cookie header, and where it ends.
func findCookies(text string, end int) (spans []span, stop int) {
	line := cookies().FindStringSubmatchIndex(text[end:min(len(text), end+4*maxAfter)])
	if line == nil {
		return nil, end
	}
	at, stop := end+line[2], end+line[3]
	for _, p := range pair().FindAllStringSubmatchIndex(text[at:stop], -1) {
		name, value := text[at+p[2]:at+p[3]], text[at+p[4]:at+p[5]]
		if !attribute().MatchString(name) && isMixed(value) && !isStandIn(value) && !strings.Contains(value, Mark[:len(Mark)-2]) {
			spans = append(spans, span{at + p[4], at + p[5], nameOf(aCookie)})
		}
	}
	return spans, stop
}

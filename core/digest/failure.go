package digest

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
)

// maxParts bounds the commands of one line.
const maxParts = 16

// command notes what a shell's call failed with, or what it cures.
func (s *summary) command(t chunker.Turn, use chunker.ToolUse) {
	command := commandOf(use)
	if command == "" || use.Output == "" && !use.Failed {
		return
	}
	if !failed(use) {
		s.cure(t, command)
		return
	}
	if f, ok := failureOf(command, use.Output, s.redact); ok {
		f.Line, f.Session, f.Time = t.EndLine, t.Session, t.Time
		s.Failures = append(s.Failures, f)
	}
}

// failed reports whether a shell's call failed, by its exit code if its output begins with that.
func failed(use chunker.ToolUse) bool {
	_, code := exitOf(use.Output)
	return code != "0" && (use.Failed || code != "")
}

// FailureOf returns what a call of a shell failed with, by the name, the arguments and the output
// of the tool. It believes that the call failed. ok is false if that is not worth keeping: a call
// of another tool, an output without an error, a failed test. The failure has neither place nor
// cure.
func FailureOf(tool, input, output string, redact func(string) string) (f Failure, ok bool) {
	if redact == nil {
		redact = func(text string) string { return text }
	}
	return failureOf(commandOf(chunker.ToolUse{Name: tool, Input: input}), output, redact)
}

func failureOf(command, output string, redact func(string) string) (f Failure, ok bool) {
	parts := partsOf(command)
	if len(parts) == 0 {
		return Failure{}, false
	}
	output, _ = exitOf(output)
	part, shown := blame(parts, output)
	if shown == "" {
		return Failure{}, false
	}
	shown = line(redact(shown))
	return Failure{Program: line(redact(part.program)), Command: shownCommand(command, redact), Error: alike(shown), Shown: excerpt.Words(shown, maxShown)}, true
}

// document matches what follows the first line of a here-document.
var document = lazy.Regexp(`(?s)(<<-?\s*['"]?\w+['"]?[^\n]*)\n.*`)

// shownCommand returns a command line as it is kept.
func shownCommand(command string, redact func(string) string) string {
	return excerpt.Words(line(redact(document().ReplaceAllString(command, "$1 …"))), maxCommand)
}

// A part is one command of a command line.
type part struct {
	text    string // without cd, variables and the like
	name    string // of the executable
	program string // with its subcommand
	act     string // the word after that, if it says what is done: "npm run", "build"
}

var (
	variable = lazy.Regexp(`^[A-Za-z_]\w*=`)
	// noName begins what is no program: PowerShell's variables, numbers.
	noName  = lazy.Regexp(`^(?:[$@&%]|\d+$)`)
	subword = lazy.Regexp(`^[a-z][a-z0-9:-]*$`)
)

// Words before a program, and how many words each takes with it beside its options.
var prefixes = map[string]int{"sudo": 0, "time": 0, "nice": 0, "nohup": 0, "env": 0, "command": 0, "exec": 0, "timeout": 1, "gtimeout": 1, "caffeinate": 0, "stdbuf": 0, "!": 0, "(": 0, "{": 0}

// silent programs do no work of their own.
var silent = []string{"cd", "pushd", "popd", "echo", "export", "source", ".", "set", "unset", "sleep", "true", "false", ":", "mkdir", "pwd", "printf", "if", "then", "for", "do", "done", "fi", "while", "else", "trap", "wait", "test", "[", "[["}

// looking programs read files; that these are not there teaches nothing.
var looking = []string{"ls", "cat", "head", "tail", "find", "grep", "rg", "fd", "wc", "stat", "file", "diff", "tree", "less", "du", "which", "cmp", "rm", "cp", "mv"}

// subcommands are programs whose second word says what they do.
var subcommands = strings.Fields("apt apt-get aws az brew bun bundle cargo conda deno docker docker-compose dotnet firebase flutter flyctl fly gcloud gem gh git go gradle gradlew heroku helm hatch just kubectl make memcore mix mvn mvnw npm nx php pip pip3 pipenv pnpm podman poetry prisma pulumi rails railway rake rustup sbt supabase swift systemctl task terraform terragrunt tofu turbo uv vercel wrangler yarn")

// runners run the program that follows.
var runners = map[string]string{"npx": "", "bunx": "", "uvx": "", "pnpm": "exec", "yarn": "exec", "uv": "run", "poetry": "run", "pipenv": "run", "bundle": "exec", "hatch": "run", "pdm": "run", "dotenv": "", "mise": "exec"}

// partsOf returns the commands of a command line that do work, or all if none does.
func partsOf(command string) []part {
	var all, working []part
	for _, text := range split(command) {
		p := partOf(text)
		if p.name == "" {
			continue
		}
		if all = append(all, p); !slices.Contains(silent, p.name) {
			working = append(working, p)
		}
	}
	if len(working) > 0 {
		return working
	}
	return all
}

func partOf(text string) part {
	words := strings.Fields(text)
	for len(words) > 0 {
		takes, isPrefix := prefixes[words[0]]
		if !isPrefix && !variable().MatchString(words[0]) {
			break
		}
		words = words[1:]
		for isPrefix && len(words) > 0 && (strings.HasPrefix(words[0], "-") || takes > 0) {
			if !strings.HasPrefix(words[0], "-") {
				takes--
			}
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return part{}
	}
	name := strings.Trim(words[0], `"'`)
	if noName().MatchString(name) {
		return part{}
	}
	p := part{text: strings.Join(words, " "), name: name, program: excerpt.Words(line(name[strings.LastIndexByte(name, '/')+1:]), 40)}
	var rest []string
	for i, w := range words[1:] {
		if folder := words[i] == "-C"; !folder && (!strings.HasPrefix(w, "-") || w == "-m") {
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 || !subword().MatchString(rest[0]) && rest[0] != "-m" {
		return p
	}
	p.addSubcommand(rest)
	return p
}

// valueTakers are programs whose third word is what they work on, not what they do.
var valueTakers = []string{"git", "go", "cargo", "docker", "kubectl", "make", "just", "task"}

// addSubcommand adds what the words after a program's name say that it does.
func (p *part) addSubcommand(rest []string) {
	first := p.program
	between, runs := runners[p.program]
	switch {
	case rest[0] == "-m":
		if strings.HasPrefix(p.program, "python") && len(rest) > 1 {
			p.program = "python -m " + rest[1]
		}
	case runs && between == "":
		p.program += " " + rest[0]
	case runs && rest[0] == between && len(rest) > 1 && subword().MatchString(rest[1]):
		p.program += " " + between + " " + rest[1]
	case slices.Contains(subcommands, p.program):
		p.program += " " + rest[0]
		if p.program == "docker compose" && len(rest) > 1 && subword().MatchString(rest[1]) {
			p.program += " " + rest[1]
		}
	}
	if n := strings.Count(p.program, " "); n < len(rest) && n > 0 && !slices.Contains(valueTakers, first) && subword().MatchString(rest[n]) {
		p.act = rest[n]
	}
}

// split cuts a command line at its operators, outside of quotes.
func split(command string) (parts []string) {
	var quote byte
	from := 0
	cut := func(to, next int) {
		if text := strings.TrimSpace(command[from:to]); text != "" && len(parts) < maxParts {
			parts = append(parts, text)
		}
		from = next
	}
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '<' && strings.HasPrefix(command[i:], "<<"): // the rest is text
			cut(i, len(command))
			return parts
		case c == '&' && i > 0 && command[i-1] == '>': // 2>&1
		case c == ';' || c == '|' || c == '&' || c == '\n':
			cut(i, i+1)
		}
	}
	cut(len(command), len(command))
	return parts
}

var exitLine = lazy.Regexp(`(?im)^\W*(?:exit(?:ed)?(?: with)?(?: code| status)?|process exited with code)[ :=]+(\d+)\W*$`)

// exitOf returns the ends of an output, and the exit code if it begins with that.
func exitOf(output string) (text, code string) {
	text = excerpt.Head(output, 8<<10)
	if len(output) > len(text) {
		text += "\n" + excerpt.Tail(output[len(text):], 8<<10)
	}
	if m := exitLine().FindStringSubmatch(excerpt.Head(text, 300)); m != nil {
		code = m[1]
	}
	return text, code
}

var (
	// usage matches errors of how or where a program was called.
	usage = lazy.Regexp(`(?i)\b(?:command not found|sh: (?:line )?\d+: [\w./+-]+: not found|not recognized as|executable file not found|unknown (?:flag|option|command|shorthand|argument|subcommand|switch|revision|field|database|host|type:)|unrecogni[sz]ed (?:argument|arguments|option|flag|subcommand|command)|illegal option|invalid (?:option|argument|flag|choice|value|command|subcommand|syntax|reference|spec|json|api key|credentials|token|input)|unexpected (?:argument|option|token)|usage:|flag provided but not defined|(?:requires?|accepts?|expected|takes?|needs?) (?:at (?:least|most)|exactly|between|an argument|\d+ arg)|` +
		`missing (?:argument|operand|required|script|option|target|separator)|the following required arguments|permission denied|operation not permitted|access denied|authentication failed|not logged in|unauthori[sz]ed|forbidden|bad credentials|could not read (?:username|password)|` +
		`connection (?:refused|reset|timed out)|could not (?:resolve|connect|find|open|locate|translate)|cannot (?:connect|find module|find package|open|access|locate|import)|can't (?:open|find|connect|cd)|timed? ?out|no module named|module not found|cannot find (?:module|package|type definition)|no required module provides|go\.mod file not found|` +
		`is not installed|not installed|not a git repository|outside (?:available|main) (?:modules|module)|no such (?:file|service|command|option|remote|container|image|table|column|database|host|directory|device|process|user)|does not exist|doesn't exist|already (?:exists|in use|running)|address (?:already )?in use|port is already|is not running|version (?:mismatch|conflict)|unsupported|not supported|requires (?:python|node|go|rust)|no space left|out of memory|cannot allocate|` +
		`externally-managed-environment|unexpected eof|unterminated|syntax error near|unmatched|no matches found|bad substitution|bad (?:option|flag|interpreter|revision)|parse error near|event not found|argument list too long|pathspec|did not match any|non-fast-forward|failed to push|would be overwritten|refusing to|nothing to commit|no upstream branch|not possible|divergent branches|detached head|no configuration file|no rule to make target|no targets|is not (?:a valid|defined for|a directory|a file|executable|allowed|on path)|is a directory|not found in|` +
		`must (?:specify|provide|be run|be set|set|be one of)|please (?:specify|provide|run|install|set|use|tell me who)|(?:environment variable|env var)\w* .{0,40}(?:not set|missing|required|undefined)|not set\b|rate limit|quota exceeded|certificate|ssl error|tls)\b|\bE(?:ACCES|NOENT|ADDRINUSE|CONNREFUSED|RESOLVE|EXIST|PERM)\b|^(?:fatal|npm (?:err!|error) code): `)
	// working matches results of the code at work: tests, compilers, linters.
	working = lazy.Regexp(`(?i)^\s*(?:--- fail|fail\b|✗|✖|×|●|e\s{2,}|assert|expected|actual|got:|want:|panic: test|=== |ok\s|thread '|test result|\d+ (?:failing|passing|failed|passed))|AssertionError|assertion failed|tests? failed|^\s*[\w./\\-]+\.\w{1,5}[:(]\d+[:,)]|TS\d{4}:|error\[E\d+\]|^\s*at \S+ ?\(|^\s*\d+\s*[|│]|does not satisfy|undefined: |^(?:\S+: )?warning\b|: warning |\bnpm warn\b|(?:^|\s)(?-i:WARN|INFO|DEBUG)\b|(?:Type|Syntax|Name|Reference|Attribute|Indentation|Timeout)Error|Type error:|error (?:CS|MSB|NU)\d+|does not exist (?:on|in) type`)
	// testing matches programs whose failures are mostly of the code at work.
	testing = lazy.Regexp(`(?i)\b(?:test|tests|pytest|jest|vitest|mocha|playwright|tsc|eslint|ruff|mypy|flake8|pylint|clippy|vet|golangci-lint|rspec|phpunit|biome|prettier|unittest|lint|check|build|compile|gradlew?|dotnet|msbuild|e2e|node|tsx|python3?)\b`)
	// environment matches what a test or compiler says of its surroundings.
	environment = lazy.Regexp(`(?i)\b(?:command not found|sh: (?:line )?\d+: [\w./+-]+: not found|executable file not found|unknown (?:flag|option|command|shorthand)|unrecogni[sz]ed (?:argument|arguments|option)|illegal option|invalid option|unexpected argument|flag provided but not defined|usage:|not a git repository|go\.mod file not found|no required module provides|cannot find (?:main module|module providing|module '(?:/|[a-z]:))|outside (?:available|main)|no configuration file|missing script|no module named|permission denied|connection refused|address already in use|(?:could not|unable to) (?:read|resolve|connect)|authentication failed|unauthori[sz]ed|valid statement separator|unexpected token .* in expression|no matches found|event not found|bad substitution|parse error near|\bcd:|is not installed|no such file or directory|cannot find package|must be set|not set\b|no space left|no tests? (?:found|ran|files)|pattern .{0,40}(?:no such|matched no)|directory not found|no matches found|unsupported engine|externally-managed)`)
)

// blame returns which command of a line failed and the line of its output that says why; "" if that
// is not worth keeping.
func blame(parts []part, output string) (blamed part, shown string) {
	blamed = parts[0]
	for l := range strings.SplitSeq(output, "\n") {
		l = streams().ReplaceAllString(line(excerpt.Head(plainOutput(l), 4*maxShown)), "")
		if l == "" || strings.HasPrefix(l, "Command: ") || !usage().MatchString(l) {
			continue
		}
		if !informative(l) {
			continue
		}
		blamed = blamedIn(parts, l)
		if testing().MatchString(blamed.program) && (working().MatchString(l) || !environment().MatchString(l)) || working().MatchString(l) && !environment().MatchString(l) {
			continue
		}
		if slices.Contains(looking, blamed.name) && strings.Contains(strings.ToLower(l), "no such file") {
			return blamed, ""
		}
		return blamed, l
	}
	return blamed, ""
}

// informative reports whether an error's line says more than a path and a number.
func informative(l string) bool {
	return len(word3().FindAllString(alike(l), 2)) == 2
}

var (
	word3 = lazy.Regexp(`\p{L}{3,}`)
	// Lines of shells about themselves or a program that is not there.
	noFolder  = lazy.Regexp(`(?:^|[ :])cd: ?(?:\d+: ?|line |no such|[^ ]+: (?:No such|Not a))`)
	noProgram = lazy.Regexp(`command not found: ([\w./+-]+)|(?:^|: )([\w./+-]+): (?:command )?not found$|exec: "([^"]+)": executable file|'([^']+)' is not recognized`)
)

// blamedIn returns the command that a line of output names, else the first.
func blamedIn(parts []part, l string) part {
	switch m := noProgram().FindStringSubmatch(l); {
	case m != nil:
		name := m[1] + m[2] + m[3] + m[4]
		name = name[strings.LastIndexByte(name, '/')+1:]
		for _, p := range parts {
			if p.base() == name {
				p.program = name
				return p
			}
		}
		return part{name: name, program: name, text: name}
	case noFolder().MatchString(l):
		return part{name: "cd", program: "cd", text: "cd"}
	case misspelt().MatchString(l):
		return part{name: "shell", program: "shell", text: "shell"}
	}
	for _, p := range parts {
		if name := p.name[strings.LastIndexByte(p.name, '/')+1:]; name != "" && (strings.HasPrefix(l, name+": ") || strings.Contains(l, "not found: "+name) || strings.Contains(l, ": "+name+": ") || strings.Contains(l, "Usage: "+name)) {
			return p
		}
	}
	return parts[0]
}

// streams are what agents put before what a command wrote.
var streams = lazy.Regexp(`^(?:Output|Stdout|Stderr): `)

var colours = lazy.Regexp("\x1b\\[[0-9;?]*[a-zA-Z]")

func plainOutput(l string) string {
	if strings.Contains(l, "\x1b") {
		return colours().ReplaceAllString(l, "")
	}
	return l
}

var (
	shellLine = lazy.Regexp(`^(?:(?:/\S*/)?(?:ba|z|da)?sh|\(eval\)|--):(?: line)? ?(?:\d+: |-?c: )?`)
	// lacking precedes the name of what is not there, which tells errors apart.
	lacking = lazy.Regexp("(?i)(?:cannot find (?:module|package)|no module named|missing script:?|no such (?:command|service|table|column|option):?) [\"'`]?(@?[A-Za-z][\\w./:@-]*)")
	valueOf = lazy.Regexp("\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”|‘[^’]*’")
	option  = lazy.Regexp("^[\"'`“‘]?--?[a-zA-Z][\\w-]*[\"'`”’]?$")
	address = lazy.Regexp(`\w+://\S+|\S+@\S+`)
	placed  = lazy.Regexp(`[^\s,;()=]*[/\\][^\s,;()=:]*(?::\d+)*:?|\b[\w-]+\.[a-z][a-z0-9]{0,4}\b(?::\d+)*:?`)
	numbers = lazy.Regexp(`\b(?:0x)?[0-9][0-9a-fA-F.:_-]*\w*\b|\b[0-9a-f]{7,}\b`)
	names   = lazy.Regexp(`\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]+[A-Z]\w*|\b(?:[A-Z][a-z0-9]+){2,}\b|\b\w+(?:\.\w+)+\b`)
	gaps    = lazy.Regexp(`…(?:[\s,:]*…)+`)
)

// alike makes lines of equal errors equal: without paths, numbers, names and quoted values.
func alike(shown string) string {
	text := shellLine().ReplaceAllString(shown, "")
	kept := ""
	if m := lacking().FindStringSubmatchIndex(text); m != nil {
		kept, text = text[m[2]:m[3]], text[:m[2]]
	}
	for _, one := range []func(string) string{
		func(s string) string {
			return valueOf().ReplaceAllStringFunc(s, func(quoted string) string {
				if option().MatchString(quoted) {
					return quoted
				}
				return "…"
			})
		},
		func(s string) string { return address().ReplaceAllString(s, "…") },
		func(s string) string { return placed().ReplaceAllString(s, "…") },
		func(s string) string { return numbers().ReplaceAllString(s, "…") },
		func(s string) string {
			return names().ReplaceAllStringFunc(s, func(name string) string {
				if strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception") {
					return name
				}
				return "…"
			})
		},
	} {
		text = one(text)
	}
	return excerpt.Words(line(gaps().ReplaceAllString(text, "…")+kept), maxShown)
}

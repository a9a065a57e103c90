package digest

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/lazy"
)

// maxCureLines is how many lines of a log after a failure its cure may stand. Ten commands take
// about forty.
const maxCureLines = 60

// cure fills in the cure of earlier failures.
func (s *summary) cure(t chunker.Turn, command string) {
	said := ""
	for i := len(s.Failures) - 1; i >= 0 && t.EndLine-s.Failures[i].Line <= maxCureLines; i-- {
		f := &s.Failures[i]
		if f.Cure != "" {
			continue
		}
		if said == "" {
			said = shownCommand(command, s.redact)
		}
		if cures(f, said) {
			f.Cure = said
		}
	}
}

// These match what an error says is wrong. Each kind is cured by another change of the command.
var (
	// missing: the program is not there.
	missing = lazy.Regexp(`(?i)command not found|not recognized as|executable file not found|: not found$`)
	// misplaced: the command ran in the wrong folder, or on a file that is not there.
	misplaced = lazy.Regexp(`(?i)\bcd:|go\.mod file not found|not a git repository|outside (?:available|main)|no configuration file|no rule to make target|no targets|no such file or directory|could not (?:find|open|read file)|cannot (?:find|open|access)|can't (?:open|find|cd)|does not exist|package\.json|directory not found|\bcode enoent\b|path .{0,60}not found`)
	// miscalled: the program has no such option, argument or command.
	miscalled = lazy.Regexp(`(?i)\b(?:unknown|unrecogni[sz]ed|illegal option|invalid (?:option|argument|flag|choice|value|command|subcommand|spec)|unexpected (?:argument|option)|usage:|flag provided|(?:requires?|accepts?|expected|takes?|needs?) (?:at (?:least|most)|exactly|between|an argument|\d+ arg)|missing (?:argument|operand|required|script|option|target|separator)|no such (?:command|option|service)|must (?:specify|provide|be one of))`)
	// misspelt: the shell itself did not understand the line.
	misspelt = lazy.Regexp(`(?i)valid statement separator|unexpected token .* in expression|no matches found|event not found|bad substitution|parse error near|unmatched|syntax error near|unexpected eof while|argument list too long`)
)

const (
	// A command is another form of one that failed if they have this share of their words in
	// common.
	minAlike = 0.5
	// minAlikeState is for errors of the surroundings, which may have passed by themselves.
	minAlikeState = 0.6
)

// cures reports whether a command that worked is another form of one that failed. Both are as they
// are kept.
func cures(f *Failure, worked string) bool {
	if worked == f.Command {
		return false
	}
	failed, now := partsOf(f.Command), partsOf(worked)
	pair := func(same func(p, q part) bool) bool {
		return slices.ContainsFunc(failed, func(p part) bool {
			return slices.ContainsFunc(now, func(q part) bool { return same(p, q) })
		})
	}
	isMissing, isMisplaced := missing().MatchString(f.Shown), misplaced().MatchString(f.Shown)
	switch {
	case (isMissing || miscalled().MatchString(f.Shown)) && elsewhere(f.Command, worked),
		(isMissing || isMisplaced) && prepares(failed, now):
		return true
	case isMissing:
		return pair(func(p, q part) bool { return p.replaces(q, f, worked) })
	case misspelt().MatchString(f.Shown):
		return foldersOf(f.Command) == foldersOf(worked) && Alike(f.Command, worked) >= minAlike
	case isMisplaced:
		return foldersOf(f.Command) != foldersOf(worked) && pair(func(p, q part) bool {
			return (f.Program == "cd" || p.program == f.Program && !slices.Contains(looking, p.base())) && p.program == q.program && p.act == q.act
		})
	case miscalled().MatchString(f.Shown):
		return pair(func(p, q part) bool {
			if p.program != f.Program || q.program != p.program {
				return false
			}
			if wrong := p.blamed(f.Shown); wrong != "" {
				return !slices.Contains(q.words(), wrong) && (p.act == wrong && foldersOf(f.Command) == foldersOf(worked) || p.act == q.act)
			}
			return p.act == q.act && !slices.Equal(p.words(), q.words()) && Alike(p.text, q.text) >= minAlike
		})
	}
	return pair(func(p, q part) bool {
		return p.program == f.Program && q.program == p.program && p.act == q.act && q.adds(p) && Alike(p.text, q.text) >= minAlikeState
	})
}

// elsewhere reports whether the same commands worked in another folder, which has the script or the
// program that the first lacks.
func elsewhere(failed, worked string) bool {
	texts := func(command string) (all []string) {
		for _, p := range partsOf(command) {
			all = append(all, p.text)
		}
		return all
	}
	return foldersOf(failed) != foldersOf(worked) && slices.Equal(texts(failed), texts(worked))
}

// prepares reports whether the same command worked once another one of the line had made what it
// lacked: npm install && npm run build.
func prepares(failed, now []part) bool {
	last := len(now) - 1
	return last > 0 && len(failed) == 1 && now[last].text == failed[0].text && !slices.ContainsFunc(now[:last], func(p part) bool {
		return slices.Contains(looking, p.base()) || p.text == failed[0].text
	})
}

// loudness are options that change only what is written.
var loudness = strings.Fields("-v -vv -s -S -sS -sv -q --verbose --silent --quiet --debug --progress")

// adds reports whether q has an option or value that p lacks, and still works on the same things:
// it has all words of p that are neither options nor their values, all paths and all addresses. If
// it adds nothing, waiting alone may have been the cure.
func (q part) adds(p part) bool {
	words, others := p.words(), q.words()
	for i, w := range words {
		isValue := i > 0 && words[i-1][0] == '-' && !strings.Contains(w, "/")
		if w[0] != '-' && !isValue && i > 0 && !slices.Contains(others, w) {
			return false
		}
	}
	return slices.ContainsFunc(others, func(w string) bool { return !slices.Contains(words, w) && !slices.Contains(loudness, w) })
}

// replaces reports whether q runs what p did, by another program than the missing one.
func (p part) replaces(q part, f *Failure, worked string) bool {
	gone, base := f.Program, q.name[strings.LastIndexByte(q.name, '/')+1:]
	_, rest, _ := strings.Cut(p.text, " ")
	switch {
	case !slices.Contains(p.words(), gone) && p.base() != gone && !strings.HasPrefix(gone, p.base()):
		// The missing program ran the command, as timeout does; without it the same command worked.
		return strings.Contains(" "+f.Command, " "+gone+" ") && p.text == q.text && !strings.Contains(" "+worked, " "+gone+" ")
	case q.name == p.name:
		return surroundings(worked) != surroundings(f.Command) && p.act == q.act
	case strings.HasPrefix(base, gone) || strings.HasPrefix(gone, base) && base == p.base():
		return true
	}
	return q.program == "python -m "+gone || q.program == "npx "+gone || strings.HasSuffix(q.program, " run "+gone) ||
		rest != "" && strings.HasSuffix(q.text, " "+rest)
}

func (p part) base() string { return p.name[strings.LastIndexByte(p.name, '/')+1:] }

// words are the words of a part without redirections and quotes.
func (p part) words() (words []string) {
	for _, w := range strings.Fields(p.text) {
		if w = strings.Trim(w, "\"'`"); w != "" && !strings.ContainsAny(w, "<>") {
			words = append(words, w)
		}
	}
	return words
}

// blamed returns the word of a part that an error names as wrong; "" if it names none.
func (p part) blamed(shown string) string {
	_, shown, _ = strings.Cut(" "+shown, " ")
	for _, w := range p.words()[1:] {
		if option, _, _ := strings.Cut(w, "="); len(w) > 1 && (saysWord(shown, w) || option != w && saysWord(shown, option)) {
			return w
		}
		if len(w) == 2 && w[0] == '-' && strings.HasSuffix(shown, " -- "+w[1:]) { // cat: illegal option -- A
			return w
		}
	}
	return ""
}

// saysWord reports whether a text has a word that does not go on.
func saysWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = end
	}
}

func isWordByte(b byte) bool {
	return b == '-' || b == '_' || b == '/' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

// foldersOf names the folders that a command line goes to or is told to work in.
func foldersOf(command string) string {
	var folders []string
	for _, text := range split(command) {
		words := strings.Fields(text)
		for i, w := range words[:max(len(words)-1, 0)] {
			if i == 0 && (w == "cd" || w == "pushd" || w == "Set-Location") && words[1] != "." || w == "-C" || w == "--prefix" || w == "--cwd" || w == "--manifest-path" {
				folders = append(folders, strings.Join(words[i+1:], " "))
				break
			}
		}
	}
	return strings.Join(folders, "\n")
}

// surroundings are what a command line does for its programs to be found.
func surroundings(command string) string {
	var all []string
	for _, text := range split(command) {
		for i, w := range strings.Fields(text) {
			_, isPrefix := prefixes[w]
			switch {
			case isPrefix, strings.HasPrefix(w, "PATH="):
				all = append(all, w)
				continue
			case variable().MatchString(w):
				continue
			case i == 0 && slices.Contains([]string{"export", "source", ".", "eval"}, w):
				all = append(all, text)
			}
			break
		}
	}
	return strings.Join(all, "\n")
}

// Alike returns which share of their words two command lines have in common, from 0 to 1.
func Alike(a, b string) float64 {
	one, other := part{text: a}.words(), part{text: b}.words()
	slices.Sort(one)
	slices.Sort(other)
	one, other = slices.Compact(one), slices.Compact(other)
	if len(one) == 0 || len(other) == 0 {
		return 0
	}
	shared := 0
	for _, w := range one {
		if _, has := slices.BinarySearch(other, w); has {
			shared++
		}
	}
	return float64(shared) / float64(max(len(one), len(other)))
}

// Brief shortens a command line to what matters for a failure of a program: changes of the folder,
// and the parts that run the program. A line of at most max bytes, or one that does not run the
// program, is returned whole.
func Brief(command, program string, max int) string {
	if len(command) <= max {
		return command
	}
	var kept []string
	left, runs := false, false
	for _, text := range split(command) {
		p := partOf(text)
		is := p.program == program || p.base() == program
		if runs = runs || is; is || p.name == "cd" {
			if left {
				text = "… " + text
			}
			kept, left = append(kept, text), false
			continue
		}
		left = true
	}
	if !runs {
		return command
	}
	if left {
		kept = append(kept, "…")
	}
	return strings.Join(kept, "; ")
}

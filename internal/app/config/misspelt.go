package config

import (
	"os"
	"slices"
	"strings"
)

// similar returns the name that a misspelt one resembles most; "" for none. Case, dots, hyphens and
// underscores do not count.
func similar(name string, names []string) (best string) {
	limit := 3
	if len(name) < 6 {
		limit = 2
	}
	name = lettersOf(name)
	for _, n := range names {
		if d := distance(name, lettersOf(n)); d < limit {
			best, limit = n, d
		}
	}
	return best
}

// distance is Levenshtein's: how many bytes to change, add or remove.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal, row[j+1] = row[j+1], min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

var separators = strings.NewReplacer(".", "", "-", "", "_", "")

func lettersOf(name string) string { return strings.ToLower(separators.Replace(name)) }

// constants are names that the documents behind docs/dev/seeds.md have for settings, and why there
// are none.
var constants = map[string]string{
	"dbpath":             "memory.dataDir has facts and episodes as files",
	"debugprovenance":    "'memcore memory show --provenance' shows it",
	"maxdepth":           "folders are looked through five levels deep",
	"tokenbudgetpercent": "memory.maxTokens is the limit",
	"vectordbpath":       "indexes are in the user's cache folder",
	"watchfiles":         "changed files are always read again",
}

// meant says what is there instead of a constant, or asks whether an unknown name below "memory"
// means one that it resembles, or one with the same end in another mapping, such as daemon.idle for
// hook.idle; "" for none.
func meant(name string) string {
	if instead := constants[lettersOf(name)]; instead != "" {
		return ": " + instead
	}
	var all, found []string
	last := lettersOf(name[strings.LastIndexByte(name, '.')+1:])
	for _, s := range Known {
		all = append(all, s.Key)
		if _, end, nested := strings.Cut(s.Key, "."); nested && lettersOf(end) == last {
			found = append(found, "memory."+s.Key)
		}
	}
	if key := similar(name, all); key != "" {
		found = []string{"memory." + key}
	}
	if len(found) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(found, " or ") + "?"
}

// misplaced returns what a key outside of "memory" probably means; "" if it is another program's.
func misplaced(key string, value any) (name, meant string) {
	if first, _, _ := strings.Cut(key, "."); first != "memory" && similar(first, []string{"memory"}) != "" {
		return first, "memory"
	}
	for _, s := range Known {
		_, err := s.kind(value)
		if lettersOf(key) == lettersOf(s.Key) && (err == nil || strings.Contains(s.Key, ".")) {
			return key, "memory." + s.Key
		}
	}
	return "", ""
}

// reportVariables names variables that are no settings but resemble one.
func (l *loader) reportVariables() {
	var names []string
	for _, s := range Known {
		names = append(names, strings.TrimPrefix(s.environment(), variablePrefix))
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || slices.Contains(names, rest) {
			continue
		}
		if meant := similar(rest, names); meant != "" {
			l.mistake("%s in the environment is no setting: did you mean %s?", name, variablePrefix+meant)
		}
	}
}

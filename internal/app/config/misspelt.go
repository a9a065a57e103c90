package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// similar returns the name that a misspelt one resembles most; "" for none. Case, dots, hyphens and
// underscores do not count.
func similar(name string, names []string) string {
	best, most := "", 3
	if len(name) < 6 {
		most = 2
	}
	name = lettersOf(name)
	for _, n := range names {
		letters := lettersOf(n)
		if letters != name && slices.Equal(slices.Compact([]byte(letters)), slices.Compact([]byte(name))) {
			return n // a letter was typed twice
		}
		if len(letters) < 5 && len(name) > len(letters) && strings.Contains(name, letters) {
			continue // another word: USER is not USE
		}
		if d := distance(name, letters); d < most {
			best, most = n, d
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

// twice names keys of a mapping that differ in case only, of which one would be lost, and those
// below "memory".
func twice(at *yaml.Node, inMemory bool) (all []string) {
	seen := map[string]string{}
	for i := 0; at.Kind == yaml.MappingNode && i+1 < len(at.Content); i += 2 {
		key := at.Content[i].Value
		folded := strings.ToLower(key)
		if !inMemory && folded != "memory" {
			continue // other programs share the file
		}
		if other := seen[folded]; other != "" {
			all = append(all, other+" and "+key)
		}
		seen[folded] = key
		all = append(all, twice(at.Content[i+1], true)...)
	}
	return all
}

// meant returns the settings that an unknown name below "memory" resembles, as "memory.a or
// memory.b"; "" for none. A name in the wrong mapping, such as hook.idle, resembles daemon.idle.
func meant(name string) string {
	if key := similar(name, settingKeys()); key != "" {
		return "memory." + key
	}
	last := lettersOf(name[strings.LastIndexByte(name, '.')+1:])
	var found []string
	for _, key := range settingKeys() {
		if _, end, nested := strings.Cut(key, "."); nested && lettersOf(end) == last {
			found = append(found, "memory."+key)
		}
	}
	return strings.Join(found, " or ")
}

func settingKeys() []string {
	keys := make([]string, len(Known))
	for i, s := range Known {
		keys[i] = s.Key
	}
	return keys
}

// misplaced returns what a key outside of "memory" probably means; "" if it is another program's.
func misplaced(key string, value any) (name, meant string) {
	first, _, _ := strings.Cut(key, ".")
	if meant = similar(first, []string{"memory"}); meant != "" {
		return first, meant
	}
	if meant = similar(key, settingKeys()); meant == "" {
		return "", ""
	}
	// A short word of another program may resemble a setting by chance.
	s := Known[slices.IndexFunc(Known, func(s Setting) bool { return s.Key == meant })]
	if _, err := s.kind(value); err != nil && !(strings.Contains(meant, ".") && strings.EqualFold(key, meant)) {
		return "", ""
	}
	if len(meant) < 5 && !strings.EqualFold(key, meant) {
		return "", ""
	}
	return key, "memory." + meant
}

// similarVariable returns the variable that a misspelt one resembles; "" for none. If its
// prefix is misspelt, the rest must be the name of a setting.
func similarVariable(name string) string {
	var names []string
	for _, s := range Known {
		names = append(names, strings.TrimPrefix(s.environment(), variablePrefix))
	}
	if rest, ok := strings.CutPrefix(name, variablePrefix); ok {
		if meant := similar(rest, names); meant != "" {
			return variablePrefix + meant
		}
		return ""
	}
	if _, rest, _ := strings.Cut(name, "_"); slices.Contains(names, rest) {
		return variablePrefix + rest
	}
	return ""
}

// hasPrefix reports whether a variable has the prefix of settings, or one like it.
func hasPrefix(name string) bool {
	prefix, _, ok := strings.Cut(name, "_")
	most := len(variablePrefix) - 1
	return ok && len(prefix) > most-2 && len(prefix) < most+2 && distance(prefix+"_", variablePrefix) < 3
}

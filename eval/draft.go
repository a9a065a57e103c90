package eval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/secret"
)

const (
	// draftCases limits the cases of a draft, one a document.
	draftCases = 25
	// draftDocuments limits the documents read.
	draftDocuments = 2000
	minWords       = 6
	maxWords       = 14
)

var smallTalk = []string{"thanks, that works", "good morning", "please make that text shorter", "what is the boiling point of mercury", "ok, go on"}

// ErrNothingToDraft is returned if no sentence yields a case.
var ErrNothingToDraft = errors.New("no Markdown document has a sentence with a number or a name in it")

// A draft is a possible case.
type draft struct {
	Case
	rarity float64 // of its words
}

// Draft makes cases from Markdown, without a model. Each query is a sentence without its number or
// identifier, which is expected back. A person should turn them into questions.
func Draft(ctx context.Context, sources []source.Source) ([]byte, error) {
	documents, err := markdownOf(ctx, sources)
	if err != nil {
		return nil, err
	}
	known := map[string]int{} // in how many documents a word is
	for _, d := range documents {
		for _, word := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(strings.ToLower(d.text))))) {
			known[word]++
		}
	}
	var drafts []draft
	for _, d := range documents {
		if best, ok := d.draft(known); ok {
			drafts = append(drafts, best)
		}
	}
	if len(drafts) == 0 {
		return nil, ErrNothingToDraft
	}
	slices.SortStableFunc(drafts, func(a, b draft) int { return cmp.Compare(b.rarity, a.rarity) })
	var file caseFile
	for _, d := range drafts[:min(draftCases, len(drafts))] {
		file.Cases = append(file.Cases, d.Case)
	}
	for _, text := range smallTalk {
		file.Cases = append(file.Cases, Case{Query: text, ExpectNothing: true})
	}
	return encode(draftHead, file)
}

// A page is a Markdown document of a source.
type page struct{ path, text string }

// markdownOf skips unreadable files.
func markdownOf(ctx context.Context, sources []source.Source) ([]page, error) {
	var all []page
	for _, from := range sources {
		listing, err := from.List(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue
		}
		for _, doc := range listing.Documents {
			if doc.Kind != source.KindMarkdown || len(all) >= draftDocuments {
				continue
			}
			content, err := from.Read(ctx, doc, source.Position{})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil {
				text, _ := secret.Redact(string(content.Markdown))
				all = append(all, page{doc.Path, text})
			}
		}
	}
	return all, nil
}

// draft makes a case of the sentence with the rarest words.
func (p page) draft(known map[string]int) (best draft, ok bool) {
	for _, chunk := range chunker.Markdown(p.path, []byte(p.text), chunker.Options{}).Chunks {
		for _, sentence := range sentences(chunk.Text) {
			if strings.Contains(sentence, secret.Mark) {
				continue // an answer must be in the text
			}
			c, rarity, found := cloze(sentence, known)
			if found && (!ok || rarity > best.rarity) {
				c.Expect[0].Path = p.path
				best, ok = draft{c, rarity}, true
			}
		}
	}
	return best, ok
}

var (
	endOfSentence = lazy.Regexp(`[.!?]\s+|\n\s*\n|\n\s*[-*|#>]\s*|\n\s*\d+[.)]\s+`)
	// definite matches possible answers: words with a digit, and identifiers.
	definite = lazy.Regexp(`\d|[a-z][A-Z]|[a-z]_[a-z]|^[A-Z]{3,}$`)
	markup   = strings.NewReplacer("`", "", "*", "", "\n", " ", "[", "", "]", "")
)

// sentences splits prose; code and tables have none.
func sentences(text string) []string {
	if strings.Contains(text, "```") || strings.Contains(text, "|--") {
		return nil
	}
	return endOfSentence().Split(text, -1)
}

// cloze removes the first definite word of a sentence.
func cloze(sentence string, known map[string]int) (c Case, rarity float64, ok bool) {
	words := strings.Fields(markup.Replace(sentence))
	if len(words) > 0 && (words[0] == "-" || words[0] == ">") {
		words = words[1:]
	}
	if len(words) < minWords || strings.HasPrefix(words[0], "#") {
		return c, 0, false
	}
	at := slices.IndexFunc(words, func(word string) bool { return definite().MatchString(trim(word)) })
	if at < 0 || len(trim(words[at])) < 2 {
		return c, 0, false
	}
	answer := trim(words[at])
	var query []string
	for i, word := range words {
		if word = trim(word); i != at && word != "" && !definite().MatchString(word) && len(query) < maxWords {
			query = append(query, word)
			rarity += 1 / math.Log2(1+float64(max(known[strings.ToLower(word)], 1)))
		}
	}
	if len(query) < minWords-1 {
		return c, 0, false
	}
	return Case{Query: strings.Join(query, " "), Expect: Expectations{{Text: answer}}}, rarity / float64(len(query)), true
}

func trim(word string) string { return strings.Trim(word, ".,;:!?()\"'“”<>") }

const draftHead = `# Cases for 'memcore eval run --data THIS FILE': questions to your memory, and the expected hits.
#
# This is a draft. Each query is a sentence of a document without one word, which is expected back.
# Turn it into a question in your own words; delete those you would never ask.
#
#   - query: which port does the staging database use
#     expect: notes/staging.md            # any part of a document; notes/staging.md#Heading for a section;
#                                         # or a text of the hit; or a mapping with path, heading and text,
#                                         # which must all fit; or a list, all of which must be found
#   - query: thanks, that works
#     expect_nothing: true                # the memory must give nothing

`

func encode(head string, file caseFile) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

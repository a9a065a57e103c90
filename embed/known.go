package embed

import (
	"cmp"
	"strings"
)

const (
	representSentence = "Represent this sentence for searching relevant passages: "
	representChinese  = "为这个句子生成表示以用于检索相关文章："
	searchInstruction = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

// A knownModel is what a model was trained with, if embedders do not assume it anyway.
type knownModel struct {
	query, document string // prefixes
	tokens          int
}

// known has models by how their names begin, from their cards and Ollama's library. It sets no
// dimension, which many servers refuse. Ollama cuts nomic-embed-text at 2048 tokens, and its
// bge-large is bge-large-en-v1.5. all-minilm reads 256 tokens, but the fingerprints of indexes have
// the default.
var known = map[string]knownModel{
	"all-minilm":                     {},
	"bge-base-en":                    {query: representSentence, tokens: 512},
	"bge-base-zh":                    {query: representChinese, tokens: 512},
	"bge-large":                      {query: representSentence, tokens: 512},
	"bge-large-zh":                   {query: representChinese, tokens: 512},
	"bge-m3":                         {tokens: 8192},
	"bge-small-en":                   {query: representSentence, tokens: 512},
	"bge-small-zh":                   {query: representChinese, tokens: 512},
	"e5-base":                        {query: "query: ", document: "passage: ", tokens: 512},
	"e5-large":                       {query: "query: ", document: "passage: ", tokens: 512},
	"e5-small":                       {query: "query: ", document: "passage: ", tokens: 512},
	"embeddinggemma":                 {query: "task: search result | query: ", document: "title: none | text: ", tokens: 2048},
	"multilingual-e5":                {query: "query: ", document: "passage: ", tokens: 512},
	"multilingual-e5-large-instruct": {query: searchInstruction + " ", tokens: 512},
	"mxbai-embed-large":              {query: representSentence, tokens: 512},
	"nomic-embed-text":               {query: "search_query: ", document: "search_document: ", tokens: 2048},
	"nomic-embed-text-v2":            {query: "search_query: ", document: "search_document: ", tokens: 512},
	"qwen3-embedding":                {query: searchInstruction, tokens: 32768},
	"snowflake-arctic-embed":         {query: representSentence, tokens: 512},
	"snowflake-arctic-embed-l-v2":    {query: "query: ", tokens: 8192},
	"snowflake-arctic-embed-m-v2":    {query: "query: ", tokens: 8192},
	"snowflake-arctic-embed2":        {query: "query: ", tokens: 8192},
	"text-embedding-3":               {tokens: 8191},
	"text-embedding-ada-002":         {tokens: 8191},
}

// For fills in unset prefixes and MaxTokens of known models, whatever owner, version and tag are in
// the name: "hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0".
func (o RemoteOptions) For(model string) RemoteOptions {
	m := knownAs(model)
	o.QueryPrefix = cmp.Or(o.QueryPrefix, m.query)
	o.DocumentPrefix = cmp.Or(o.DocumentPrefix, m.document)
	o.MaxTokens = cmp.Or(o.MaxTokens, m.tokens)
	return o
}

// knownAs looks for the longest beginning of the name.
func knownAs(model string) (found knownModel) {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(name, ":")
	other := strings.TrimPrefix(name, "text-embedding-") // LM Studio puts that before names
	longest := 0
	for begins, m := range known {
		if len(begins) > longest && (isA(name, begins) || isA(other, begins)) {
			found, longest = m, len(begins)
		}
	}
	return found
}

// isA reports whether a name is the model or a version of it, such as "bge-m3-q4" of "bge-m3".
func isA(name, model string) bool {
	rest, ok := strings.CutPrefix(name, model)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "-_.@"))
}

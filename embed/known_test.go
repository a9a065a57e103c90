package embed_test

import (
	"testing"

	"github.com/memcore/memcore/embed"
)

func TestFor(t *testing.T) {
	const represent = "Represent this sentence for searching relevant passages: "
	const instruct = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	for _, tt := range []struct {
		model           string
		query, document string
		tokens          int
	}{
		{"nomic-embed-text", "search_query: ", "search_document: ", 2048},
		{"nomic-embed-text:latest", "search_query: ", "search_document: ", 2048},
		{"nomic-embed-text:137m-v1.5-fp16", "search_query: ", "search_document: ", 2048},
		{"hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0", "search_query: ", "search_document: ", 2048},
		{"host:1/team/nomic-embed-text", "search_query: ", "search_document: ", 2048},
		{"text-embedding-nomic-embed-text-v1.5", "search_query: ", "search_document: ", 2048},
		{"nomic-embed-text-v2-moe", "search_query: ", "search_document: ", 512},
		{"nomic-embed-textual", "", "", 0},
		{"nomic-embed-code", "", "", 0},
		{"mxbai-embed-large:335m", represent, "", 512},
		{"mixedbread-ai/mxbai-embed-large-v1", represent, "", 512},
		{"bge-m3", "", "", 8192},
		{"BAAI/bge-m3", "", "", 8192},
		{"bge-large", represent, "", 512},
		{"BAAI/bge-large-en-v1.5", represent, "", 512},
		{"BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", "", 512},
		{"BAAI/bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", "", 512},
		{"snowflake-arctic-embed:22m", represent, "", 512},
		{"snowflake-arctic-embed2", "query: ", "", 8192},
		{"Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", "", 8192},
		{"qwen3-embedding:0.6b", instruct, "", 32768},
		{"Qwen/Qwen3-Embedding-8B", instruct, "", 32768},
		{"embeddinggemma", "task: search result | query: ", "title: none | text: ", 2048},
		{"google/embeddinggemma-300m", "task: search result | query: ", "title: none | text: ", 2048},
		{"intfloat/multilingual-e5-small", "query: ", "passage: ", 512},
		{"intfloat/e5-large-v2", "query: ", "passage: ", 512},
		{"intfloat/multilingual-e5-large-instruct", instruct + " ", "", 512},
		{"intfloat/e5-mistral-7b-instruct", "", "", 0},
		{"text-embedding-3-small", "", "", 8191},
		{"text-embedding-3-large", "", "", 8191},
		{"text-embedding-ada-002", "", "", 8191},
		{"all-minilm", "", "", 0}, // so that its fingerprint stays
		{"sentence-transformers/all-MiniLM-L6-v2", "", "", 0},
		{"m", "", "", 0},
		{"", "", "", 0},
	} {
		want := embed.RemoteOptions{QueryPrefix: tt.query, DocumentPrefix: tt.document, MaxTokens: tt.tokens}
		if got := (embed.RemoteOptions{}).For(tt.model); got != want {
			t.Errorf("For(%q) = %+v, want %+v", tt.model, got, want)
		}
	}
}

// Options that are set stay.
func TestForKeepsWhatIsSet(t *testing.T) {
	for _, tt := range []struct{ in, want embed.RemoteOptions }{
		{embed.RemoteOptions{QueryPrefix: "q: "}, embed.RemoteOptions{QueryPrefix: "q: ", DocumentPrefix: "search_document: ", MaxTokens: 2048}},
		{embed.RemoteOptions{DocumentPrefix: "d: ", MaxTokens: 99, BatchSize: 3},
			embed.RemoteOptions{QueryPrefix: "search_query: ", DocumentPrefix: "d: ", MaxTokens: 99, BatchSize: 3}},
	} {
		if got := tt.in.For("nomic-embed-text"); got != tt.want {
			t.Errorf("%+v for nomic-embed-text = %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

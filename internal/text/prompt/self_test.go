package prompt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/prompt"
)

func TestAsksOfSelf(t *testing.T) {
	for want, texts := range map[prompt.Self][]string{
		prompt.OfMe: {
			"what's my name?", "what’s my name", "What is my name again?", "my name?", "who am i", "Who am I?", "do you know who I am", "Do you remember my name?", "hi, what's my name?",
			"tell me what my name is", "what is my role?", "what's my job title", "what do you know about me?", "what do you remember about me", "tell me what you know about myself",
			"do you remember me?", "where do I live?", "where am I from?", "how old am I", "what is my time zone?", "which languages do I speak?", "what's my favourite editor?",
			"what is my e-mail address", "what do I do for a living?",
			"wer bin ich", "Wie heiße ich?", "wie heisse ich", "Was ist mein Name?", "Wie lautet mein Name noch?", "weißt du, wie ich heiße?", "was weißt du über mich?", "Wo wohne ich?", "was ist mein Beruf?",
			"¿Cómo me llamo?", "como me llamo", "¿cuál es mi nombre?", "quién soy", "¿Qué sabes de mí?", "¿dónde vivo?",
			"Comment je m'appelle ?", "quel est mon nom ?", "qui suis-je", "que sais-tu de moi ?", "où est-ce que j'habite ?",
			"我叫什么名字？", "我叫什么", "我是谁？", "我的名字是什么", "你知道我的名字吗？", "你还记得我吗？", "你知道我的什么信息？", "我的职业是什么？", "我住在哪里",
			"私の名前は何ですか？", "私の名前は？", "僕の名前を覚えていますか", "私は誰ですか", "私のことを覚えていますか？", "私の職業は何ですか",
			"내 이름이 뭐야?", "como me chamo?", "как меня зовут?",
		},
		prompt.OfMine: {
			"why does my test fail?", "which editor do I use?", "how do I deploy this?", "what is my role binding called in staging.yaml?", "where is my config file?", "what do I do now?",
			"what is my name field missing in the form?", "warum läuft mein Test nicht?", "我的测试为什么失败？",
		},
		prompt.OfOthers: {
			"", "go on", "what is the name of the service?", "rename my name to Bob in the README", "add my name to the list of authors", "who is on call?", "fix my e-mail",
			"update my name", "what are our roles?", "write a function that returns my age", "服务的名字是什么？", "把我的名字加到作者列表里，然后提交这个改动。",
			"```\nwhat's my name?\n```", "/whoami", "the user asked who wrote it, and in my test the name was wrong because the fixture is stale",
		},
	} {
		for _, text := range texts {
			require.Equal(t, want, prompt.Parse(text).AsksOfSelf(), text)
		}
	}
}

func FuzzAsksOfSelf(f *testing.F) {
	for _, seed := range []string{"what's my name?", "我是谁", "\xff my name", "?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := prompt.Parse(text).AsksOfSelf()
		require.GreaterOrEqual(t, got, prompt.OfOthers)
		require.LessOrEqual(t, got, prompt.OfMe)
	})
}

func TestAsksOfOurs(t *testing.T) {
	for text, want := range map[string]bool{
		"how do we write postmortems?":          true,
		"Do I want to be asked before changes?": true,
		"Wie heißen unsere Cluster?":            true,
		"¿Qué gestor de paquetes usamos?":       true,
		"我们用什么数据库？":                             true,
		"what is a monad?":                      false,
		"rename our scanner":                    false,
		"why is the build red?":                 false,
	} {
		require.Equal(t, want, prompt.Parse(text).AsksOfOurs(), text)
	}
}

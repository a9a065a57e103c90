package digest

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/stated"
)

// Patterns of several languages. Those of what is said take one sentence, with "'" for "’"; those of
// moments take any text.

var (
	endings = lazy.Regexp(`[\p{L}\p{N})"'\x60]{2}[.!?]+\s+`)

	// printed is in what programs say.
	printed = lazy.Regexp(`(?:^|\W)[A-Z]\w*(?:Error|Exception)\b` +
		`|\.(?:go|py|rs|rb|java|kt|cs|exs?|php|c|cc|cpp|h|swift|vue|svelte|[jt]sx?|[cm]js):\d|\d+:\d+ ` +
		`|\w+/\d\b|(?i:^(?:\w+ ){0,2}(?:error|warning|hint|info|debug|fatal|panic):)` +
		`|(?i:no such file|command not found|no function clause|traceback|is not defined|never used|npm warn)` +
		`|\d\.\d{3} `)
	// correcting begins or contains what says that the agent was wrong.
	correcting = lazy.Regexp(`(?i)^\W*(?:(?:umm+|uhh*|hmm+|wait|dude|hey|ok(?:ay)?|so|but|and|oh|ah|sorry` +
		`|no)[\s,.!…]+)*(?:no|nope|nah|wrong|not (?:that|like that|what|right|quite|true)|don't|do not|stop` +
		`|undo|revert|roll ?back|instead|rather|that's (?:wrong|not|incorrect|the wrong)` +
		`|that is (?:wrong|not|incorrect)|this (?:is|isn't) (?:all )?(?:wrong|not|insane|bad|garbage|good` +
		`|right)|` +
		`what the (?:hell|heck|fuck)|wtf|why (?:did|would|are|do|have) you` +
		`|you (?:broke|just broke|missed|forgot|removed|deleted|ignored|misunderstood|duplicated` +
		`|just duplicated|put|were (?:supposed|told))|nein|falsch|nicht so|stopp|lass das` +
		`|das (?:ist falsch|stimmt nicht)|no,|eso no|está mal|incorrecto|non|c'est faux|pas comme ça|arrête)\b` +
		`|^(?:不对|不是|错了|别|不要|停|撤销|回滚|違う|違います|いいえ|やめて|間違)` +
		`|\b(?:(?:doesn't|didn't|does not|did not|still (?:doesn't|isn't|not|does not)) work` +
		`|still (?:fails?|failing|broken|wrong|happens|crash\w*|the same)` +
		`|(?:is|was|that's|it's) (?:just |simply |all )?(?:wrong|incorrect|backwards|not true|the wrong)` +
		`|isn't true|isn't (?:good|right|correct|what|true)|not what i|i (?:said|asked|told you|meant)\b` +
		`|you (?:should have|shouldn't have|were not supposed|weren't supposed|broke|forgot|missed|ignored` +
		`|misunderstood)|` +
		`(?:we|i) (?:don't|do not) (?:want|like|need) (?:a |an |any |that|this|it|the |to )` +
		`|(?:revert|undo) (?:it|that|this|the)|stop (?:doing|adding|putting|using|creating)|das stimmt nicht` +
		`|immer noch (?:nicht|falsch|kaputt)|todavía no funciona|ne marche (?:toujours )?pas|no funciona)\b` +
		`|还是不行|不行|不起作用|まだ(?:動か|直って)|動きません`)
	notCorrecting = lazy.Regexp(`(?i)^\W*no(?:,|\.|!)? (?:it's|that's|this is|all|worries|problem|need|idea|rush` +
		`|thanks)\b.{0,12}\b(?:fine|good|ok|okay|great|right)?\b[^.]{0,10}[.!]?$|^\W*no(?:pe)?\W*$` +
		`|^\W*(?:不是|别)(?:问题|担心)`)
)

// momentWords are, for each Moment, the words of statements about it, and of prompts that ask for
// it. "The last commit" names a thing and asks for nothing, so a verb counts where a clause begins.
var momentWords = []struct {
	moment        Moment
	words, orders func(string) bool
}{
	{Commit, matcher(`(?i)\b(?:commit\w*|amend\w*|squash\w*|rebas\w+|fixups?|branch(?:es)?|pull requests?` +
		`|merge requests?|push(?:es|ed|ing)?|pushen|changelog|co-author\w*|conventional|ramas?|branche)\b` +
		`|\b[pm]rs?(?:[\s.,;:!?)#]|$)|提交|推送|分支|コミット|ブランチ|プッシュ`),
		matcher(ordered(`commit|amend|squash|rebase|push|committe|commite|pushe|commitea|pushea|sube|committa|коммить`+
			`|закоммить|запушь`, `commit|branch|pr|mr|pull request|merge request`) +
			`|\b(?:committen|pushen|commitear|committer|committare)\b|(?:^|[^次个個的])提交|推送|(?:コミット|プッシュ)(?:して|しと)`)},
	{Test, matcher(`(?i)\b(?:tests?|tested|testing|testen|pytest|jest|vitest|playwright|coverage|mocks?` +
		`|mocking|fixtures?|sleeps?|tdd|e2e|asserts?|assertions?|table[- ]driven|pruebas?|waitForTimeout)\b` +
		`|测试|測試|テスト`),
		matcher(`(?i)\b(?:re-?run|run|write|add|extend|cover|update|execute|do|with|lass|schreib\w*|ergänze|corre|ejecuta|escribe|lance|écris|ajoute|roda|escreve|lancia|scrivi|запусти|напиши)\b[^.?!\n]{0,40}\b(?:tests?|specs?|coverage|pruebas?|testes?)\b` +
			`|^\W*(?:please )?tests?\b|测试|測試|テスト|тест|테스트`)},
	{Review, matcher(`(?i)\b(?:review(?:s|er|ers|ed|ing)?|code-review|revisi[oó]n|revue)\b|审查|评审|レビュー`),
		matcher(ordered(`review|code-review|revisa|relis|prüfe`, `review|code review|code-review|revue|revisión`) +
			`|\b(?:look at|check|read) (?:\w+ ){1,3}(?:pr|mr|pull request|merge request)\b|审查|评审|レビュー`)},
	{Deploy, matcher(`(?i)\b(?:deploy\w*|releas\w+|publish(?:ing)?|ship(?:s|ped|ping)?|roll ?out|staging` +
		`|production|prod|rollback|ausliefern|veröffentlich\w+|despleg\w+|despliegue|déploy\w+)\b|部署|发布` +
		`|上线|デプロイ|リリース`),
		matcher(ordered(`deploy|release|publish|ship|roll ?out|roll ?back|tag|deploye|veröffentliche|despliega|publica|déploie`+
			`|publie|déploy|задеплой|выкати`, `release|rollback|deploy|deployment|tag|despliegue|déploiement`) +
			`|\b(?:ausliefern|ausrollen|veröffentlichen|deployen|desplegar|déployer|publier)\b|部署|发布|上线|デプロイ|リリース`)},
}

// ordered matches an order whose verb is one of verbs, or to make one of things.
func ordered(verbs, things string) string {
	return `(?i)(?:^|[.,;:!?–—、，。；：！？&+\n(]|\PL(?:and|then|to|now|und|dann|y|luego|et|puis|e|poi|и)\PL| - )\PL*` +
		`(?:(?:please|pls|ok(?:ay)?|yes|good|great|just|also|so|now|and|then|finally|let's|let us|let me|go ahead and` +
		`|(?:can|could|would|will) (?:you|we)|help me|bitte|ja|gut|por favor|sí|oui|пожалуйста)\PL+)*` +
		`(?:(?:` + verbs + `)|(?:make|create|open|do|write|prepare|draft|cut|start|mach|erstelle|öffne|haz|crea|abre|fais|crée|ouvre|faz|fai|maak) ` +
		`(?:(?:me|the|a|an|one|your|another|new|einen?|ein|den|un|una|el|uma?|een) ){0,2}(?:\w+ )?(?:` + things + `))(?:\PL|$)`
}

func matcher(expression string) func(string) bool {
	compiled := lazy.Regexp(expression)
	return func(text string) bool { return compiled().MatchString(text) }
}

// MomentsAsked returns the moments that an order asks for.
func MomentsAsked(order string) (moments []Moment) {
	for _, m := range momentWords {
		if m.orders(order) {
			moments = append(moments, m.moment)
		}
	}
	return moments
}

func momentsOf(text string) (moments []Moment) {
	for _, m := range momentWords {
		if m.words(text) {
			moments = append(moments, m.moment)
		}
	}
	return moments
}

// rejects reports whether a message says that what the agent did is wrong.
func rejects(own string) bool {
	own = stated.Straight(own)
	if len(own) > 600 {
		own = strings.ToValidUTF8(own[:600], "")
	}
	return !notCorrecting().MatchString(own) && correcting().MatchString(own)
}

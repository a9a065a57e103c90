package digest

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// The words by which statements are found, in English, German, Spanish, French, Chinese and
// Japanese. Each matches within one sentence, with "'" for "’".

// agentVerbs are what agents do for a project, as an order names it.
const agentVerbs = `commit|push|pull|merge|amend|rebase|squash|force|deploy|release|publish|ship|tag|pin|mock` +
	`|lint|format|review|test|apply|use|run|write|add|create|make|generate|put|mention|mix|touch|edit` +
	`|modify|update|change|delete|remove|install|skip|ask|assume|guess|wait|sleep|explain|document|comment` +
	`|hardcode|bump|upgrade|rename|move|revert|rewrite|refactor|reformat|ignore|import|log|pass|set|call` +
	`|follow|ensure|mark|start|open|close|sign|name|keep|check|read|show|answer|reply|include|do|go`

// tools are programs and languages of programs. Common words are not among them.
const tools = `npm|pnpm|yarn|bun|uv|pip|poetry|conda|cargo|clippy|gofmt|golangci\S*|docker|podman|kubectl|helm` +
	`|terraform|tofu|ansible|grep|jq|bash|zsh|powershell|python|node|deno|typescript|javascript|sql|git|gh` +
	`|jest|vitest|pytest|playwright|cypress|eslint|prettier|biome|ruff|mypy|htmx|tailwind|prisma|gradle` +
	`|maven|makefile|yaml|toml|xml|webp|jpeg|systemd|vim|emacs`

var (
	// ofWork are words of the work of agents, not of what programs do.
	ofWork = patternOf(`(?i)\b(?:commit\w*|branch(?:es)?|[pm]rs?|pull requests?` +
		`|merge (?:commits?|requests?|conflicts?)|rebas\w+|squash\w*|amend\w*|push(?:es|ed|ing)?|changelogs?` +
		`|co-author\w*|releas\w+|deploy\w*|rollbacks?|staging|production|prod|tests?|testing|mock\w*|fixtures?` +
		`|coverage|sleeps?|tdd|lint\w*|type ?checks?|review\w*|docs?|documentation|readme|markdown|md` +
		`|dependenc(?:y|ies)|librar(?:y|ies)|packages?|lock ?files?|migrations?|seeds?|scripts?|emojis?|rules?` +
		`|plans?|tasks?|to-?dos?|code|codebase|comments?|naming|names|functions?|refactor\w*|idiom\w*` +
		`|abbreviations|secrets|credentials|ci|pipelines?|runners?|clusters?|terminal|pager|command line` +
		`|permission|approv\w+|notes|summar(?:y|ies)|simulator|emulator|machine|laptop` +
		`|until i (?:say|ask|tell)|(?:to|in|im|al|dans le) (?:the )?repo|on your own|without asking` +
		`|ask(?:ing)? me|my (?:approval|permission|ok)|(?-i:[A-Z]{2,}_[A-Z_]+)` +
		`|(?:in|to) (?:english|german|french|spanish|chinese|japanese)` +
		`|(?:to|on|into|from|auf|in|a|en) (?:main|master)|conventions?|indent\w*|tabs over spaces` +
		`|spaces over tabs|` +
		tools + `)\b|\.md\b|\.env\b|\boutside (?:of )?\S*/|(?:^|\s)--[a-z]|` +
		`\b(?:pruebas?|ramas?|comentarios?|documentaci[oó]n|migraci[oó]n(?:es)?|c[oó]digo|funci[oó]n(?:es)?` +
		`|despleg\w+|dependencias|tute\w+|usted(?:es)?|vosotros|en (?:inglés|español)|tester|branches?` +
		`|commentaires?|fonctions?|déploy\w+|dépendances?|tutoyer|vouvoyer|en (?:français|anglais)|tests` +
		`|kommentare?|ausrollen|ausliefern|abhängigkeiten|duzen|siezen|pushen|committen|funktionen` +
		`|auf (?:deutsch|englisch))\b` +
		`|提交|推送|分支|测试|測試|注释|代码|文档|命名|变量|部署|发布|发版|上线|依赖|评审|审查|迁移|脚本|重构` +
		`|密钥|生产|中文|英文|英语|确认|コミット|プッシュ|テスト|コメント|コード|レビュー|デプロイ|リリース` +
		`|ドキュメント|英語|日本語`)
	// ofProduct are sentences about what a program does from now on.
	ofProduct = patternOf(`(?i)\b(?:qu'elles?|qu'ils?) (?:soi(?:t|ent))\b` +
		`|\b(?:it|they|the (?:user|page|button|list|form|app)s?) (?:will|should|must|shall)\b` +
		`|\b(?:error|crash\w*|fails?|failing|broken|doesn't work)\b|报错|错误|失败|问题`)
	// fromNowOn are words that make an order hold for later.
	fromNowOn = patternOf(`(?i)\b(?:from now on|from here on(?: out)?|as a rule` +
		`|(?:our|my) (?:\w+ )?(?:convention|policy|rule) is` +
		`|the (?:\w+ )?(?:convention|policy|house style|rule here) is|by convention|ab (?:jetzt|sofort)` +
		`|von nun an|künftig|zukünftig|in zukunft|grundsätzlich|a partir de ahora|de ahora en adelante` +
		`|désormais|dorénavant|à partir de maintenant)\b|一律|从现在开始|从今以后` +
		`|以后(?:都|要|不|别|请|就|[^，。]{1,8}都)|今后|今後|これから(?:は|も)`)
	// later orders are for another time, with words that are said of plans as well.
	later = patternOf(`(?i)\b(?:(?:in (?:the )?future|next time|going forward|at all times)\b.*\b(?:you|don't` +
		`|do not|never|always|make sure|please|must|remember)` +
		`|(?:you|don't|do not|never|always|make sure|please|must|remember)\b.*\b(?:in (?:the )?future` +
		`|next time|going forward|at all times))\b|\b(?:don't|do not) ever\b` +
		`|\b(?:like|as) we always (?:do|did)\b|\b(?:in english|auf deutsch|en español|en français` +
		`|en inglés),? (?:please|bitte|por favor|s'il)|不要再`)
	// always begins a clause that says what to do or not to do whatever comes.
	always = patternOf(`(?i)^(?:(?:i want you|please|you|we|make sure|ensure|remember|be sure|try|should|must` +
		`|need|have|to|and|it's important) )*(?:always|never) (?:ever |be )?(?:` + agentVerbs + `|allow|prefer` +
		`|have|store|latest)\b` +
		`|^(?:siempre|nunca|jam[aá]s) \p{L}+|^(?:\p{L}+ )?(?:debe[ns]?|hay que|ten[eé]s que|tienes que` +
		`|se) (?:siempre|nunca)\b|\b(?:siempre|nunca) (?:se|hay que|deb\p{L}+)\b` +
		`|^(?:toujours|ne jamais) \p{L}+(?:er|ir|re)\b|\b(?:il faut|\p{L}+ez) (?:toujours|jamais)\b` +
		`|^(?:immer|nie|niemals)\b.* \p{L}+n[.!]*$|\b(?:nie|niemals|immer) (?:\p{L}+ )?\p{L}+en[.!]*$|总是` +
		`|總是|始终|永远|每次(?:提交|推送|部署|发布|上线|合并|改|写|回答)|必须|必須|都要|禁止|不许|绝不|常に` +
		`|いつも|絶対に|毎回|必ず`)
	// insisting begins a clause that says what to do whatever comes, in any trade. It counts with a
	// reason, or with what is right instead.
	insisting = patternOf(`(?i)^(?:please )?(?:always|never) [a-z]+`)
	instead   = patternOf(`(?i)\bnever .{3,}[,;–—] ?(?:(?:we )?use|always)\b|\balways .{3,}[,;–—] ?never\b`)
	// ruled begins a clause with what shall always or never be so.
	ruled = lazy.Regexp(`(?i)^((?:\S+ ){1,5}?)(?:must|should|shall) (?:always|never)\b`)
	// excluding begins a clause with what shall not be there: things that agents add unasked.
	excluding = patternOf(`(?i)^(?:no |i don't want |we don't want |keine?n? |nada de |sin |pas d(?:e |')` +
		`|no quiero |no queremos |je ne veux (?:pas|plus) d(?:e |'))(?:(?:más|ui` +
		`|[\w-]{3,}) ){0,2}?(?:[\w]+-)?(?:sleeps?|mocks?|emojis?|prs?|pull requests?|merge commits?|commits?` +
		`|comments?|docs|documentation|markdown|md(?: files)?|dependenc(?:y|ies)|librar(?:y|ies)|frameworks?` +
		`|scripts?|summar(?:y|ies)|fixtures|stubs|todos|force[- ]push\w*|rebas\w+|squash\w*|amend\w*` +
		`|abbreviations|globals|unwraps?|unsafe|panics|changes (?:to|in|on) (?:[\w-]+ ){0,2}(?:ingress|dns` +
		`|schema|prod\w*|main|api|config\w*|migrations?)|archivos md|scripts|documentaci[oó]n|comentarios` +
		`|dependencias|librerías|migrationen|abhängigkeiten|kommentare|commentaires|dépendances` +
		`|` + tools + `)(?:[.!)]*$| (?:please|at all|anywhere|in|for|unless|ever|outside|here|are al\w+|on|or` +
		`|mehr|bitte|que|por favor|\p{L}+en$))` +
		`|^no .{3,40} (?:in this (?:project|repo\w*|codebase|module)|outside (?:of )?\w+)\b` +
		`|\b(?:has no (?:place|business) in|nichts (?:verloren|zu suchen))\b`)
	// excludingAny begins a clause with what shall not be there, whatever it is.
	excludingAny = patternOf(`(?i)^(?:no (?:(?:more|any|new|extra) .+` +
		`|.+ (?:in|to|for|outside|at all|anywhere)\b.*)|keine? (?:.+ (?:in|im|mehr)\b.*)|nada de .+` +
		`|(?:不要|别).+|(?:plus|pas) de .+ (?:dans|en|pour)\b.*)$`)
	// chatting begins with "no" and excludes nothing.
	chatting = patternOf(`(?i)^no (?:man|problem|worr\w+|need|idea|thanks|way|matter|issues?|errors?|results?` +
		`|changes?$|one|longer|please|lets?|let's|just|the|my|don't|this|these|those|that|you|i|we|it)\b`)
	// forbidding begins a clause that forbids.
	forbidding = patternOf(`(?i)^(?:please )?(?:don't|do not|dont|never|stop|avoid) (?:ever ` +
		`|please )?(?:` + agentVerbs + `|(?:add|us|creat|ask|commit|push|writ|runn|mock)\w*ing)\b` +
		`|\b(?:nicht|niemals) (?:\p{L}+ )?(?:committen|pushen|mergen|mocken|deployen|ausrollen|anfassen` +
		`|ändern)\b|^no (?:hagas|uses|ejecutes|escribas|crees|toques|pongas|subas|modifiques|agregues|borres` +
		`|commitees|mezcles|traduzcas|cambies|instales|mandes|metas|dejes|muevas|copies|renombres)\b` +
		`|^(?:n'utilise[rz]?|ne \p{L}+) (?:pas|jamais)\b` +
		`|^(?:请)?(?:不要|别)(?:(?:自动|再)?(?:提交|推送|部署|发布|push|commit)|(?:直接|随便|擅自)\p{Han})` +
		`|しないで`)
	// atHand forbids something for what was just done.
	atHand = patternOf(`(?i)^(?:please )?(?:don't|do not|dont|never|stop|avoid) (?:ever )?\w+ (?:this|that|it` +
		`|these|those|them|anything|any of)\b|\b(?:esto|eso|es[ea]|est[ea]|ça|cela|ce|cette)\b|#file|@\w`)
	// pointsAt is about the thing at hand.
	pointsAt = patternOf(`(?i)\b(?:this|that|it|these|those|them|anything|esto|eso|ese|esa|este|esta|ça|cela` +
		`|ce|cette|das|the (?:other|others|rest|same|file|plan))\b|#file|@\w|(?:的|这个?)$`)
	// definite forbids something for one thing, unless there is a reason.
	definite = patternOf(`(?i)^(?:please )?(?:don't|do not|dont|never|stop|avoid) (?:\w+ the\b` +
		`|(?:make|write|change|touch|edit|modify|start|do|create|generate) (?:any |more |other )*(?:code` +
		`|changes?|files?|edits|commands)(?:[.!]*$| (?:to|yet|here|at|or|and)\b)` +
		`|(?:create|add|write|make) (?:any )?new\b)`)
	// general begins a clause about all of a kind that agents make.
	general = patternOf(`(?i)^(?:(?:all|our|new|unit|integration|every|each) )*(?:tests?|commits?` +
		`|commit messages?|commit titles?|code comments?|comments|branches|branch names|pull requests?|prs` +
		`|migrations|error messages|function names|docs|secrets|release notes|dependencies) (?:must|mustn't` +
		`|should|shouldn't|shall|have to|go(?:es)? (?:in|into|to|under)|belongs? (?:in|to|under)` +
		`|are (?:always |never |only )?(?:written|named|kept|stored|encrypted|signed|in)|live in|start with` +
		`|end in)\b` +
		`|^(?:los|las|el) (?:commits?|mensajes|comentarios|pruebas|ramas|nombres) (?:van|llevan|tienen` +
		`|empiezan|en|se|siempre|con)\b|^(?:die )?(?:commits?|tests?|kommentare|namen) (?:auf|immer|müssen` +
		`|sollen|gehören)\b|(?:before|after) (?:each|every|you) ?(?:commit|push|pr\b|pull request|merge` +
		`|deploy\w*|release|step|task|phase|change)\b` +
		`|^(?:only )?(?:(?-i:\p{Lu})\p{L}+|\p{Han}{2,3}) (?:only |alone |always |never )?(?:reviews|deploys` +
		`|merges|approves|releases|decides (?:on|about|over)|signs off)\b` +
		`|^(?:every|all) .{2,40} (?:goes? through|belongs? in|lives? in)\b` +
		`|^you (?:should(?: not|n't)|must(?: not|n't)|aren't (?:allowed|supposed) to) be (?:add|ask|assum` +
		`|chang|commit|creat|delet|edit|guess|modify|push|runn|touch|writ)ing\b` +
		`|^(?:alle|jede[rsn]?) (?:tests?|commits?|kommentare|funktionen)\b` +
		`|^(?:todos los|todas las|cada|tous les|toutes les|chaque) (?:tests?|pruebas|commits?|comentarios` +
		`|funciones|commentaires|fonctions)\b|^(?:提交信息|提交说明|提交|注释|文档|变量名?)[^，。]{0,4}(?:写` +
		`|用|放)|^(?:测试|提交|部署|上线|发版|发布|推送)(?:里|时|前|后)?(?:别|不要|必须|都|要|只)` +
		`|(?:周|星期)[一二三四五六日天末](?:不|别|不要)(?:发|上|部)`)
	// habitual begins a clause that says what is done here.
	habitual = patternOf(`(?i)^(?:in \w+ |here |aquí |acá |ici ` +
		`|hier )?(?:(?:we|wir|nosotros|nous|on|everybody|nobody) (?:only |always |never |all |don't |do not )?` +
		`|i (?:only|always|never) )(?:use|write|keep|commit|review|sign|speak|format|follow|ship|deploy` +
		`|release|test|mock|squash|nutzen|verwenden|benutzen|schreiben|duzen|siezen|rollen|usamos|escribimos` +
		`|hacemos|utilise|utilisons|écrit|écrivons)\b|^(?:aquí |acá )?(?:usamos|escribimos|hablamos|tuteamos` +
		`|hacemos)\b|^(?:我们|咱们|店里|这里|项目)(?:里|只|都|统一|一般)*(?:用|写|跑|提交|部署|发布)` +
		`|(?:使って|利用して)います`)
	// contrasting names what to use and what not.
	contrasting = patternOf(`(?i)^(?:use|prefer|run|nutze|nimm|verwende|usa` +
		`|utilise[rz]?) [a-z][a-z.+-]*(?: [a-z.+-]+)?(?: here| hier| aquí` +
		`| ici)?,? (?:(?:and |und |y |et )?(?:not|never|nicht|no|pas)|instead of|rather than|statt|anstatt` +
		`|en vez de|en lugar de|au lieu de|plutôt que) [a-z][a-z.+-]*\b` +
		`|^(?:please |just )?use ["'\x60]?(?:` + tools + `)\b["'\x60]?(?: \w+["'\x60]?)?(?: here` +
		`| please)?[!.]*$|^(?:` + tools + `) please\b|(?:用|使用)[^，。]{1,20}(?:不要用|而不是|别用)` +
		`|(?:ではなく)[^。]{1,20}(?:使って|使用|を使)`)
	// guarded begins with when something shall be done.
	guarded = patternOf(`(?i)^\W*(?:when(?:ever)?|before|after|each time|every time|any ?time) you (?:review` +
		`|commit|push|merge|deploy|release|write (?:code|tests?|docs)|test|answer|explain|open a` +
		`|create a (?:branch|pr|commit))\b`)
	// conditional says how to run something, and what happens else.
	conditional = patternOf(`(?i)^\W*(?:\w+ ){0,2}?(?:run|start|build|test|invoke|execute|deploy` +
		`|commit)\b.{3,160}(?:\botherwise\b|\bor else\b|\bsonst\b|\bsi ?no\b|\bsinon\b)` +
		`|^\W*to avoid .{3,60} (?:use|pass|run|set|call)\b|(?:否则|不然|そうしないと|でないと)`)
	// advising begins an order that says how, not what.
	advising = patternOf(`(?i)^(?:use|ask|run (?:it |them )?(?:on|with|in)|test (?:on|with)|benchmark on` +
		`|pull with|nimm|nutze|verwende|frag|usa|utilise|用|使用)\b`)
	// reasoned gives a reason in a later clause.
	reasoned = patternOf(`(?i)\bunless (?:i|you|we)\b|[,.;:–—] ?(?:because|since|otherwise|or else|it's|it is` +
		`|it has|they(?:'re| are)|there(?:'s| are| is)|that's|that is|we (?:lost|don't|had|have|can't)` +
		`|the [\w' -]{3,30} (?:is|are|has|have|can't|doesn't|reads?|needs?)|sonst|weil|da (?:ist|sind)` +
		`|d(?:er|ie|as) .{3,30} (?:ist|sind|läuft|braucht)|son|es|está|están|c'est` +
		`|(?:el|la|los|las) .{3,30} (?:es|está|tiene|son)|denn|si no|porque|sinon|parce que|car)\b` +
		`|(?:因为|上次|否则|不然|ya que|es que|だから|ので)`)
	// terse are phrases and orders that say how to commit, test, write or talk.
	terse = patternOf(`(?i)^(?:just |only )*(?:` + strings.Join([]string{
		`(?:a|one|1|single|small|separate|atomic|conventional|signed)(?: single| small` +
			`| separate)? commits?(?: per .{2,40})?`,
		`not? (?:a )?(?:pr|pull request|merge commit|branch)s?`,
		`(?:fold|squash|amend|fixup) .{2,40} (?:in|into|to|with) .{0,20}\bcommits?`,
		`(?:use |write |let's use )?table[- ]driven(?: tests?)?`,
		`write (?:all |any |every |your |our |the )?(?:code|comments?|commits?(?: messages?)?|docs?` +
			`|tests?) in (?:imperative.*|english|german|french|spanish|chinese|japanese` +
			`|the (?:past|present|imperative).*)`,
		`(?:unit|integration|e2e|property|snapshot|golden|fuzz)(?:[- ]based)? tests? (?:only|first)`,
		`we write (?:what|in|our) .{2,60}`, `ask (?:me )?(?:first|before you .{2,60})`, `keep (?:commits|prs` +
			`|pull requests|diffs) .{2,30}`,
		`tests? first`, `commit straight to .{2,30}`, `pin (?:by|to) .{2,30}`,
		`(?:be sure to |make sure to )?keep (?:it|the code|code) (?:dry|idiomatic)`,
		`(?:speak|answer|reply|respond|talk)(?: to me)? in [a-z]+`, `parle(?:-moi` +
			`|r?) (?:moi )?en \p{L}+`, `réponds(?:-moi)? en \p{L}+`, `(?:habla` +
			`|responde)(?:me)? en \p{L}+`, `antworte (?:mir |bitte |immer )*auf \p{L}+`,
		`ein commit`, `kein pr`, `un solo commit`, `un seul commit`,
	}, "|") + `)(?: please)?[.!]*$|^(?:请)?用(?:中文|英文|英语)(?:回答|回复|交流|沟通|写)`)

	// leading is what people say before they come to the point.
	leading = lazy.Regexp(`(?i)^\W*(?:(?:(?:no|nope|nein|non)[,.!;]` +
		`|(?:ok(?:ay)?|yes|yeah|thanks?|clever|nice|good|fine|great|right|btw|by the way|one more thing|also` +
		`|and|but|so|then|please|pls|again|hmm+|oh|ah|well|wait|for the record|fyi|note(?: that)?` +
		`|remember(?: that)?|whatever happens|und|aber|bitte|übrigens|ja|y|pero|por favor|ya|et|mais|oui` +
		`|si)\b)[\s,.:;!–—-]*)+`)
	// ordering begins what is to be done once.
	ordering = patternOf(`(?i)^[\W\d]*(?:(?:please|ok(?:ay)?|now|so|and|then|also|just|let's` +
		`|go ahead and)[\s,]+)*(?:update|fix|implement|add|create|make|remove|change|move|analy[sz]e|read` +
		`|rename|delete|refactor|build|install|start|review|check|look|find|show|tell|explain|describe|convert` +
		`|replace|extract|list|clean|port|proceed|continue|try|verify|address|resolve|handle|set|copy|follow` +
		`|include|summari[sz]e|organi[sz]e|document|i want|i need|i would like)\b`)
	endings = lazy.Regexp(`[\p{L}\p{N})"'\x60]{2}[.!?]+\s+`)

	// troubled are words of what is wrong with a product.
	troubled = patternOf(`(?i)\b(?:this error|an error|got (?:this|an)|error:|i tried|bug|not working` +
		`|(?:doesn't|don't|didn't|isn't|won't) (?:work|show|appear)\w*|still|nothing happens|immer noch` +
		`|funktioniert nicht|kaputt|todav[ií]a|sigue|no (?:funciona|anda|veo|aparece)|ne (?:fonctionne|marche)` +
		`|n'(?:est|apparaît)|toujours pas)\b|错误|报错|失败|还是|出现|问题|为什么|動かない|エラー`)
	// pastedIn is in what programs say.
	pastedIn = patternOf(`(?:^|\W)[A-Z]\w*(?:Error|Exception)\b` +
		`|\.(?:go|py|rs|rb|java|kt|cs|exs?|php|c|cc|cpp|h|swift|vue|svelte|[jt]sx?|[cm]js):\d|\d+:\d+ ` +
		`|\w+/\d\b|(?i:^(?:\w+ ){0,2}(?:error|warning|hint|info|debug|fatal|panic):)` +
		`|(?i:no such file|command not found|no function clause|traceback|is not defined|never used|npm warn)` +
		`|\d\.\d{3} `)
	regretting = patternOf(`(?i)\b(?:would|could|should|might) have\b|^\W*never ?mind\b` +
		`|\bhow (?:we|you|it|they) \w+\b|\b(?:has|have|had|was|were) (?:always|never)\b` +
		`|\b(?:it|that|this|he|she|they) (?:always|never)\b`)

	preferring = patternOf(`(?i)\b(?:i (?:really |always |usually |strongly |much )?prefer` +
		`|i(?:'d| would) rather|i (?:don't|do not) (?:really )?like (?:any )?\w+(?:s|ing)\b` +
		`|is (?:our |my )?(?:the )?(?:preferred|favou?rite)` +
		`|(?:preferred|favou?rite) (?:approach|pattern|way|tool|editor|style) (?:is|for)` +
		`|ich (?:bevorzuge|mag lieber|möchte lieber)|prefiero|preferimos|je préfère)\b` +
		`|我(?:更)?(?:喜欢|偏好|偏爱)|(?:が|の方が)(?:好き|好み)`)
	// pronominal preferences are about the thing at hand.
	pronominal = patternOf(`(?i)^\W*(?:\w+[\s,]+)?(?:it|this|that|these|those|they|the latter|the former)(?:'s` +
		`| is| are)?\b|\bi (?:\w+ |don't |do not ){0,2}(?:like|want|prefer) (?:that|this|it|these|those|them` +
		`|the (?:idea|look|way|second|first|new|last)|option|your|how|what|where)\b|\boption\b|\bes[oae]\b` +
		`|\best[ae]\b`)
	deciding = patternOf(`(?i)\b(?:we (?:have |'ve )?(?:decided|agreed|chose|picked|settled)` +
		`|we've (?:decided|agreed|settled)|i (?:have |'ve )?decided|i've (?:decided|chosen|settled)|decision:` +
		`|let's (?:go with|stick (?:with|to)|settle on)|we(?:'re| are) (?:going|sticking) with|` +
		`wir haben (?:uns )?(?:\w+ ){0,6}(?:entschieden|beschlossen)` +
		`|ich habe (?:mich )?(?:\w+ ){0,4}entschieden|hemos decidido|decidimos|he decidido` +
		`|(?:nous avons|on a|j'ai) décidé)\b|我们决定|我决定|决定(?:使用|用|采用)` +
		`|(?:こと)?に(?:決めました|決定しました)|ことにしました`)
	// undecided decisions say nothing without what they point to.
	undecided = patternOf(`(?i)\b(?:let's go with|stick with|stick to|settle on|decided on) (?:the )?(?:option` +
		`|that|this|it|these|your|\d|first|second|third|last|latter|former|[a-z]\b|recommend)`)
	// located are facts about where things of a project are.
	located = patternOf(`(?i)\b(?:(?:the|our|my) [\w -]{0,24}(?:server|database|db|api|host|machine|instance` +
		`|cluster|bucket|repo|repository|dashboard|wiki|queue|registry|printer|runner)|staging|production` +
		`|prod) (?:[\w -]{1,30})?(?:is|are|runs|listens|lives) (?:now )?(?:on|at|in|behind|called|under|an?` +
		`|the box) [^ ]*(?:\d|/|\.[a-z]|(?-i:[A-Z])|\w+ ?(?:,|$))|我们(?:使用|用|在用)`)
	// told are facts about things and people around the project.
	told = patternOf(`(?i)^(?:[^,:]{0,30}[,:.] ?)?(?:(?:the|our|my|der|die|das|unser\p{L}*|mein\p{L}*|el|la` +
		`|nuestr\p{L}*|le|notre) )[\p{L}\p{N} '-]{2,50} (?:is|are|runs? on|listens? on|lives? at|ist|läuft auf` +
		`|es|está en|est)\b.{0,20}(?:\d+\.\d+\.\d+\.\d+|\bport \d|:\d{4}|https?://|\S+@\S+\.\w)` +
		`|^(?-i:\p{Lu})[\p{L}-]+ (?:decides?|owns|approves?|is on call|entscheidet|decide)\b` +
		`|\bi'm (?:only )?on call\b|\bi (?:always )?(?:have|run|keep) .{2,30} on port \d` +
		`|\b(?:in|at) the (?:office|hall)\b.{0,30}\d+\.\d+\.\d+`)
	// correcting begins or contains what says that the agent was wrong.
	correcting = patternOf(`(?i)^\W*(?:(?:umm+|uhh*|hmm+|wait|dude|hey|ok(?:ay)?|so|but|and|oh|ah|sorry` +
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
	notCorrecting = patternOf(`(?i)^\W*no(?:,|\.|!)? (?:it's|that's|this is|all|worries|problem|need|idea|rush` +
		`|thanks)\b.{0,12}\b(?:fine|good|ok|okay|great|right)?\b[^.]{0,10}[.!]?$|^\W*no(?:pe)?\W*$` +
		`|^\W*(?:不是|别)(?:问题|担心)`)
	// onlyNow marks what holds for one order.
	onlyNow = patternOf(`(?i)\b(?:for now|right now|just (?:this|for this|here)` +
		`|this (?:time|once|one|commit|pr|file|test|function|change|task|line)` +
		`|for (?:this|that) (?:one|task|pr|commit|time)|for the moment` +
		`|until (?:then|later|you.re done|we.re done)|yet|today|now that|next step` +
		`|in this (?:case|session|file|function|test)|` +
		`erstmal|diesmal|vorerst|jetzt nur|por ahora|esta vez|ahora (?:no|solo|sos)|pour l'instant` +
		`|cette fois)\b|这次|暂时|目前|现在(?:[^开]|$)|(?:^|[，,。])先|今回|とりあえず|#\d` +
		`|\b(?:line|step|item|option|issue|observation)s? #?\d`)
	// supposing marks what is not so, or not sure.
	supposing = patternOf(`(?i)^\W*(?:\w+ )?(?:if the|if i|if you (?:think|want|like|can|need)|suppose|imagine` +
		`|what if|assuming|assume (?:that|we)|let's (?:say|suppose|pretend)|maybe|perhaps|wenn ich|falls` +
		`|angenommen|si (?:yo|tu)|supongamos|imaginons|peut-être|quizás)\b` +
		`|\b(?:i (?:guess|wonder|think maybe)|not sure (?:if|whether|what)|for example|e\.g\.` +
		`|hypothetical\w*)\b|^(?:如果|假设|也许|もし|たぶん)`)
	// quoting marks what others said or what is read.
	quoting = patternOf(`(?i)\b(?:he|she|they|reviewers?|copilot|coderabbit` +
		`|the (?:docs?|documentation|error|log|message|output|plan|spec|comment|reviewer|customer|client` +
		`|readme|article|author|pr description)|a (?:reviewer|customer|user|colleague)|someone) (?:say|says` +
		`|said|states?|wrote|writes|told|asks?|asked|suggest(?:s|ed)?|complains?|mentions?)\b` +
		`|\b(?:says|said|reads): ?["“']|consider (?:using|adding|extracting|a |whether)|could benefit` +
		`|would benefit|^\s*(?:issue|bug|missing|minor|major|nit|warning|suggestion|note|line \d+)\s*[:—-]`)
	questioning = patternOf(`(?i)^\W*(?:(?:ok(?:ay)?|so|and|but|well|hmm+|wait)[\s,.]+)*(?:what|why|how|where` +
		`|when|which|who|is|are|am|does|do (?:we|you|i|they)|did|can|could|would|was|were|has` +
		`|have (?:we|you|i)|any|should (?:we|i|it)|will|wie|warum|wo|wann|welche[rsn]?|kannst|können|qué|cómo` +
		`|por qué|dónde|cuándo|pourquoi|comment|où|est-ce)\b`)
	politely = lazy.Regexp(`(?i)^\W*(?:(?:ok(?:ay)?|so|and)[\s,.]+)*(?:can|could|would|will) you (?:please |also )*`)
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
		matcher(ordered(`commit|amend|squash|rebase|push|committe|pushe|commitea|pushea|sube|committa|коммить`+
			`|закоммить|запушь`, `commit|branch|pr|mr|pull request|merge request`) +
			`|\b(?:committen|pushen|commitear|committer|committare)\b|(?:^|[^次个個的])提交|推送|(?:コミット|プッシュ)(?:して|しと)`)},
	{Test, matcher(`(?i)\b(?:tests?|tested|testing|testen|pytest|jest|vitest|playwright|coverage|mocks?` +
		`|mocking|fixtures?|sleeps?|tdd|e2e|asserts?|assertions?|table[- ]driven|pruebas?|waitForTimeout)\b` +
		`|测试|測試|テスト`),
		matcher(`(?i)\b(?:tests?|testing|testen|specs?|coverage|pruebas?|testes?)\b|测试|測試|テスト|тест|테스트`)},
	{Review, matcher(`(?i)\b(?:review(?:s|er|ers|ed|ing)?|code-review|revisi[oó]n|revue)\b|审查|评审|レビュー`),
		matcher(ordered(`review|code-review|revisa|relis|prüfe`, `review|code review|code-review|revue|revisión`) +
			`|\b(?:look at|check|read) (?:\w+ ){1,3}(?:pr|mr|pull request|merge request)\b|审查|评审|レビュー`)},
	{Deploy, matcher(`(?i)\b(?:deploy\w*|releas\w+|publish(?:ing)?|ship(?:s|ped|ping)?|roll ?out|staging` +
		`|production|prod|rollback|ausliefern|veröffentlich\w+|despleg\w+|despliegue|déploy\w+)\b|部署|发布` +
		`|上线|デプロイ|リリース`),
		matcher(ordered(`deploy|release|publish|ship|roll ?out|roll ?back|tag|veröffentliche|despliega|publica|déploie`+
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
	compiled := patternOf(expression)
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
	own = straight(own)
	if len(own) > 600 {
		own = strings.ToValidUTF8(own[:600], "")
	}
	return !notCorrecting().MatchString(own) && correcting().MatchString(own)
}

func straight(text string) string { return strings.NewReplacer("’", "'", "‘", "'").Replace(text) }

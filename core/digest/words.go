package digest

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// The words by which statements are found, in English, German, Spanish, French, Chinese and
// Japanese. Each matches within one sentence, with "'" for "’".
var (
	// lasting words make a statement stand for all later work.
	lasting = patternOf(`(?i)^\W*(?:(?:and|but|also|ok(?:ay)?|so|please|pls|yes|yeah|no|then|again|note)[\s,:]+)*(?:always|never|by default|whenever|every ?time|each time|any ?time (?:you|we|i|that)|as a rule|at all times)\b` +
		`|\b(?:from now on|from here on(?: out)?|going forward|in (?:the )?future|don't ever|do not ever|(?:our|the|my|a) (?:\w+ )?(?:convention|policy|house style|rule(?: here)?) (?:is|here)|by convention|` +
		`(?:must|should|shall|please|make sure to|make sure you|remember to|ensure you|be sure to|want you to|we|you|and|but) (?:always|never) (?:use|run|add|commit|push|merge|write|put|keep|make|do|call|create|test|ask|check|show|include|prefer|start|have|log|store|return|need|want|name|pin|set|deploy|mock|squash|rebase|amend|review|update|be|go|touch|edit|modify|delete|change|skip|hardcode|import|install|mention|open|close|sign|format|lint|document|follow|build|assume|guess|wait|sleep|retry|publish|release|tag))\b` +
		`|\b(?:immer|nie|niemals|ab (?:jetzt|sofort)|von nun an|künftig|zukünftig|in zukunft|grundsätzlich|jedes mal|` +
		`siempre|nunca|jam[aá]s|a partir de ahora|de ahora en adelante|cada vez que|toujours|jamais|désormais|dorénavant|à partir de maintenant|chaque fois)\b|` +
		`总是|總是|始终|永远|从现在开始|从今以后|以后(?:都|要|不|别|请)|今后|每次|一律|不要再|常に|いつも|今後|これから(?:は|も)|絶対に|毎回`)
	// modal words say that something must or must not be.
	modal = patternOf(`(?i)\b(?:must|mustn't|should|shouldn't|shall|have to|has to|need(?:s)? to|don't|do not|dont|never|always|only|go(?:es)?|belongs?|live in|are (?:written|named|kept)|muss|müssen|soll(?:en|te|ten)?|debe[ns]?|deberían?|doi(?:t|vent))\b|不要|不能|必须|必須|应该|應該|べき|必ず|しない`)
	// obliging words say that something shall be done, or not.
	obliging = patternOf(`(?i)\b(?:must|mustn't|should|shouldn't|shall|have to|has to|ought|need(?:s)? to|make sure|be sure to|ensure|remember to|please|don't|do not|dont|never|always|avoid|use|keep|run|write|put|ask|prefer|only|stop|` +
		`muss|müssen|sollte[nst]*|soll(?:en)?|bitte|nutze|verwende|schreib\w*|vermeide|keine?|debe[ns]?|deberías?|usa|usar|usemos|escribe|evita|no|il faut|ne|utilise[rz]?|écris|évite[rz]?)\b|` +
		`不要|不能|别|必须|必須|应该|應該|请|請|务必|使用|用|ください|しないで|べき|使って|使う|必ず`)
	// forbidding begins a sentence that forbids.
	forbidding = patternOf(`(?i)^(?:and |but |also |ok(?:ay)?,? |please,? |pls |bitte )*(?:no (?:more |extra |new |unnecessary |such )?(?:[\w.-]+ ){0,3}?[\w.-]*(?:s|ing|pr|prs|mr|git|emoji|code|push|amend|rebase|squash|force)\b(?:,? (?:please|thanks|at all|anywhere|in \w+(?: \w+)?))?[.!]*$` +
		`|avoid \w+|keine? \w+(?:,? bitte)?(?: in \w+)?[.!]*$|sin \w+(?:,? por favor)?[.!]*$|pas de \w+(?:,? s'il (?:te|vous) pla[iî]t)?[.!]*$)`)
	notForbidding = patternOf(`(?i)^\W*(?:and |but |ok(?:ay)?,? )*no (?:problem|worr|need|idea|thanks|way|man\b|it's|it is|that's|this|these|those|you|i\b|we\b|changes?\b|matter|issues?|errors?|results?)`)
	// ordinary is a prohibition of what agents do; it holds until something else is said.
	barring = patternOf(`(?i)\b(?:don't|do not|dont|never|stop) (?:ever |please )?(?:commit|push|merge|amend|rebase|squash|force|mock|deploy|release|publish|tag|use|run|write|add (?:comments?|tests?|emojis?|a co-author|co-author\w*|dependenc\w+|files?)|create (?:files?|docs?|branches|prs?|pull requests)|put|mention|mix|touch|edit|modify|delete|install|skip|ask|guess|assume|sleep|wait)\b` +
		`|\b(?:nicht|niemals|keine?) (?:\w+ )?(?:committen|pushen|mergen|mocken|deployen)\b|\b(?:no (?:hagas|uses|ejecutes|escribas)|n'utilise[rz]? pas|ne (?:fais|faites|commite[rz]?|pousse[rz]?) pas)\b|不要(?:提交|推送|使用|用|直接|修改|创建|添加|写)|(?:コミット|プッシュ|使用|変更)しないで`)
	// contrasting names what to use and what not.
	contrasting = patternOf(`(?i)\b(?:use|prefer|take|run|with|nutze|verwende|usa|utilise[rz]?) [\w.@/+-]+(?: [\w.@/+-]+){0,3}(?: here| hier| aquí| ici)?,? (?:(?:and |und |y |et )?(?:not|never|nicht|no|pas)|(?:instead of|rather than|statt|anstatt|en vez de|en lugar de|au lieu d[e'])) ?(?:the |a )?[\w.@/+-]+` +
		`|(?:用|使用)[^，。]{1,20}[，,]?(?:不要用|而不是|别用)|(?:ではなく)[^。]{1,20}(?:使って|使用|を使)`)
	// conditional says how to do something, and what happens else.
	conditional = patternOf(`(?i)\b(?:run|use|start|call|build|test|set|pass|invoke|execute|deploy|commit|check)\b.{3,160}(?:\botherwise\b|\bor else\b|, or (?:it|they|you|we|the)\b|\bsonst\b|\bsi ?no\b|\bsinon\b)|(?:否则|不然|そうしないと|でないと)`)
	// terse are noun phrases and orders that say how to commit, test or review.
	terse = patternOf(`(?i)^(?:and |but |just |only |please,? |ok(?:ay)?,? |also )*(?:` +
		`(?:a|one|1|single|small|separate|atomic|conventional|signed)(?: single| small| separate)? commits?\b[^.]{0,50}|(?:no|without|not) (?:a )?(?:pr|pull request|merge commit|branch)s?\b.{0,30}|(?:fold|squash|amend|fixup|combine)\b.{2,60}\b(?:in|into|to|with)\b.{0,20}\bcommits?\b.{0,30}|` +
		`table[- ]driven(?: tests?| approach)?\b.{0,30}|write (?:all |any |every |your |our |the )?(?:code|comments?|commits?(?: messages?)?|messages?|docs?|names?|tests?) (?:in|as|with|without)\b.{0,60}|(?:use|let's use|make (?:it|them)|write) table[- ]driven\b.{0,60}|(?:unit|integration|e2e|property|snapshot|golden|fuzz)(?:[- ]based)? tests? (?:only|first|too)\b.{0,20}|tests? first\b.{0,30}|commit (?:messages?|titles?) (?:in|are|must|should|without)\b.{0,60}|` +
		`(?:be sure to |make sure to )?keep (?:it|this|that|things|the code|code|them|everything) (?:dry|simple|short|minimal|small|concise|consistent|idiomatic)\b.{0,60}` +
		`|ein commit\b.{0,40}|kein pr\b.{0,20}|un solo commit\b.{0,30}|un seul commit\b.{0,30})[.!]*$`)
	// general subjects stand for more than the thing at hand.
	general = patternOf(`(?i)\b(?:any|every|each|all(?: the)?(?: of)?(?: our| new)?) (?:[\w-]+ ){0,2}?(?:tests?|commits?|files?|functions?|methods?|comments?|messages?|errors?|names?|branches|prs?|pull requests?|migrations?|endpoints?|components?|packages?|modules?|docs?|scripts?|code)\b` +
		`|(?:^|[.,;] ?)(?:the |our |unit |integration |new )*(?:tests|commits|commit messages|comments|branches|pull requests|prs|migrations|error messages|function names|functions|variables|docs|code|features?|releases) (?:must|mustn't|should|shouldn't|shall|need to|have to|go(?:es)? (?:in|into|to|under)|belongs? (?:in|to|under)|are (?:written|named|kept)|live in)\b` +
		`|\bwe (?:don't|do not|never|always|must not|mustn't|shouldn't) (?:use|mock|write|have|commit|push|do|test|add|deploy|store|log|put|keep|allow) (?:any )?\w+s\b|\bshouldn't have any\b` +
		`|\b(?:alle|jede[rsn]?) (?:tests?|commits?|dateien|funktionen|kommentare)\b|\b(?:todos los|todas las|cada) \w+|\b(?:tous les|toutes les|chaque) \w+|所有(?:的)?|每个|すべての|全ての`)
	// Of clauses, without what leads in to them:
	leading = lazy.Regexp(`(?i)^\W*(?:(?:(?:no|nope|nein|non)[,.!;]|(?:ok(?:ay)?|yes|yeah|thanks?|clever|nice|good|fine|great|right|btw|by the way|one more thing|also|and|but|so|then|please|pls|again|hmm+|oh|ah|well|wait|just|for the record|fyi|note(?: that)?|remember(?: that)?|whatever happens|und|aber|also|bitte|übrigens|ja|y|pero|por favor|ya|et|mais|ya no)\b)[\s,.:;!–—-]*)+`)
	// neverAlways begins a clause that holds whatever comes.
	neverAlways = patternOf(`(?i)^(?:never|always|nie(?:mals)?|immer|nunca|siempre|jamais|toujours) \p{L}+|^[\p{L}' -]{3,30} (?:am|im|in|um) [^,]{2,20} (?:nie|immer) \p{L}+|^(?:每次|一律|永远|总是|必须|都要|只能|不许|禁止|绝不)`)
	// excluding begins a clause with what shall not be there.
	excluding = patternOf(`(?i)^(?:no|not? (?:more|any)|keine?n?|kein|nada de|sin|pas de|aucune?) (?:\p{L}[\p{L}\p{N}'./_()-]*)(?: (?:or|and|oder|und|ni|o|y|ou|et|in|of|outside|to|for|new|extra|[\p{L}\p{N}'./_()-]+)){0,6}$|^(?:不要|别)\s*[\p{L}]`)
	// notExcluding are sentences of other kinds that begin so.
	notExcluding = patternOf(`(?i)^(?:no|not) (?:problem|worr|need|idea|thanks|way|man\b|it|that|this|these|those|you|i\b|we\b|change|matter|issue|error|result|difference|one (?:is|was)|\w+ (?:is|are|was|were|has|have|found|left|yet|works?|fails?|available)\b)|^(?:不要|别)(?:紧|急|担心)`)
	// habitual says what is done here.
	habitual = patternOf(`(?i)^(?:in \w+ )?(?:we|wir|nosotros|nous|everything|everybody|nobody|i) (?:only |always |never |all |own )?(?:use|write|keep|name|call|commit|review|say|store|sign|speak|format|follow|ship|run|deploy|work with|go through|release|nutzen|verwenden|benutzen|schreiben|duzen|siezen|sagen|rollen|buchen|usamos|escribimos|utilisons|écrivons)\b|^(?:usamos|escribimos|hablamos)\b|^everything (?:is|goes|runs) |^there(?:'s| is| are) no [\w.'-]+ (?:here|in this)|^(?:我们|店里|这里)(?:用|都|只|要|有|跑|写)|^(?:提交|注释|文档|代码|变量)[^，。]{0,6}(?:写|用)`)
	// alone says who or what alone does something.
	alone = patternOf(`(?i)^only (?:the |our )?(?:\p{Han}+|(?-i:\p{Lu})\p{L}+|[a-z]+) (?:may|can|must|[a-z]+s)\b|^(?-i:\p{Lu})\p{L}+ (?:only|alone|never|always) [a-z]+s\b|\bwird nur\b|\bdarf nur\b|^(?:solo|sólo) \p{L}+|只(?:有|能|由)`)
	// guarded begins with when something shall be done.
	guarded = patternOf(`(?i)^(?:when(?:ever)?|before|after|if|each time|every time) you (?:review|commit|push|merge|deploy|release|write|run|test|add|change|create|touch|edit|use|start|finish|are done|plan|answer|explain)\b`)
	// toolNamed are whole messages that name the tool to use.
	toolNamed = patternOf(`(?i)^(?:please |just |again:? )?use ["'\x60]?[a-z][\w.+-]*(?: [a-z][\w.+-]*)?["'\x60]?(?: here| please)?[!.]*$`)
	// purposeful says what to do for a purpose.
	purposeful = patternOf(`(?i)^to (?:avoid|prevent|test|run|deploy|build|check|debug|see) [^,]{3,60}[, ] ?(?:use|pass|run|add|set|call|always)\b`)
	// reasoned gives a reason in a later clause.
	reasoned = patternOf(`(?i)[,.;:–—] ?(?:because|since|otherwise|or else|it's|it is|it has|they(?:'re| are)|there(?:'s| are| is)|that's|that is|we (?:lost|don't|had|have|can't)|i (?:have|can't|don't)|the [\w' -]{3,30} (?:is|are|has|have|can't|doesn't|reads?|needs?)|[\w' -]{3,30} (?:is|are) (?:blocked|certified|metered|broken|forbidden|useless|full|slow)|sonst|weil|da (?:ist|sind)|denn|si no|porque|sinon|parce que)\b|(?:因为|上次|否则)`)
	// advising begins an order that says how, not what.
	advising = patternOf(`(?i)^(?:use|ask|keep|build on|run (?:it |them )?(?:on|with|in)|test (?:on|with)|benchmark|name|put the|call (?:the|it)|split|pull with|nimm|nutze|verwende|frag|benutze|usa|utilise|用|使用)\b`)
	// beingSo states a fact of a thing.
	beingSo = patternOf(`(?i)^(?:the|our|my|die|der|das|unsere?|mein\w*|el|la|los|las|nuestr\w+|le|les|notre|nos) (?:[\p{L}\p{N}'._/@-]+ ){1,7}?(?:is|are|runs?|listens?|lives?|comes? from|needs?|has|have|belongs?|requires?|takes?|closes?|opens?|starts?|stays?|ends?|means?|uses?|decides?|reviews?|ist|sind|läuft|laufen|hat|haben|gehört|heißt|steht|es|son|está|están|tiene|tienen|corre|est|sont|tourne|a|ont)\b|^[a-z]{4,}s (?:are|go|end|live|belong|come)\b|^(?-i:\p{Lu})[\p{L}-]+ (?:decides?|owns?|reviews?|deploys?|has|ist|es)\b|^(?:i'm|i am|i) (?:only |usually )?(?:on call|in |at |work|live)`)
	// troubled marks what is told of a problem or of the work at hand.
	troubled   = patternOf(`(?i)(?:^|\s)[/~]\S+/|\bhere\b|:$|\b(?:fail(?:s|ed|ing|ure)?|error|broken|breaks|crash\w*|wrong|missing|bug|issue|problem|doesn't|didn't|does not|did not|isn't|not working|should|need(?:s)? to|seems?|looks?|output|flag|shows?|still|here's|following|happens?|was|were|had|went|got|too|idea|plan|ready|done|fine|good|great|ok|nice|better|same|bad|lovely|clear|question|comment|suggestion|kaputt|fehlt|falsch)\b|错|失败|报错|问题|不行`)
	preferring = patternOf(`(?i)\b(?:i (?:really |always |usually |strongly |much )?(?:prefer|like|love|hate|dislike)|i(?:'d| would) rather|i (?:don't|do not) (?:really )?(?:like|want) (?:any |to see )?(?:\w+s|\w+ing)\b|i want you to (?:always|never)|is (?:the )?(?:preferred|my favou?rite|our favou?rite)|(?:preferred|favou?rite) (?:approach|pattern|way|tool|editor|style) (?:is|for)|` +
		`ich (?:bevorzuge|mag|möchte lieber|hätte (?:lieber|gern))|prefiero|(?:no )?me gustan?|odio|je préfère|je n'aime pas|j'aime(?: mieux)?|je déteste)\b|我(?:更)?(?:喜欢|偏好|偏爱|不喜欢|讨厌)|(?:が|を|の方が)(?:好き|好み|嫌い)`)
	// pronominal preferences are about the thing at hand.
	pronominal = patternOf(`(?i)\bi (?:\w+ |don't |do not ){0,2}(?:like|love|hate|prefer|dislike) (?:that|this|it|these|those|them|the (?:idea|look|way|second|first|new|last)|option|your|how|what|where)\b|\bwould like\b|\bi'd (?:like|love)\b|\bi like \d|\b(?:me gusta|j'aime|mag ich) (?:eso|esto|ça|das|es)\b`)
	deciding   = patternOf(`(?i)\b(?:we (?:have |'ve )?(?:decided|agreed|chose|picked|settled)|we've (?:decided|agreed|settled)|i (?:have |'ve )?decided|i've (?:decided|chosen|settled)|decision:|let's (?:go with|stick (?:with|to|w/)|settle on)|we(?:'re| are) (?:going|sticking) with|` +
		`wir haben (?:uns )?(?:\w+ ){0,6}(?:entschieden|beschlossen)|ich habe (?:mich )?(?:\w+ ){0,4}entschieden|hemos decidido|decidimos|he decidido|(?:nous avons|on a|j'ai) décidé)\b|我们决定|我决定|决定(?:使用|用|采用)|(?:こと)?に(?:決めました|決定しました)|ことにしました`)
	factual = patternOf(`(?i)^\W*(?:(?:and|also|but|btw|fyi|note(?: that)?|because|since|hi|hello)[\s,:]+)*(?:we|our team|this project|our project|this repo|wir|nous|nosotros) (?:use|uses|deploy|deploys|run|runs|nutzen|verwenden|benutzen|utilisons|usamos)\b|\b(?:remember (?:that|this)\b|i (?:work|live) (?:as|at|for|in|on)|my (?:time ?zone|email|editor|team|role|company) is|` +
		`(?:the|our) [\w -]{0,24}(?:server|database|db|api|service|host|port|url|instance|cluster|bucket|repo|repository|branch|dashboard|docs|site|app|staging|production|wiki|queue|cache|config|registry|code|tests) (?:is|are|runs|listens|lives) (?:now )?(?:on|at|in|behind|called|under) |on utilise )|我们(?:使用|用|在用)|(?:使用|利用)しています`)
	// correcting begins or contains what says that the agent was wrong.
	correcting = patternOf(`(?i)^\W*(?:(?:umm+|uhh*|hmm+|wait|dude|hey|ok(?:ay)?|so|but|and|oh|ah|sorry|no)[\s,.!…]+)*(?:no|nope|nah|wrong|not (?:that|like that|what|right|quite|true)|don't|do not|stop|undo|revert|roll ?back|instead|rather|that's (?:wrong|not|incorrect|the wrong)|that is (?:wrong|not|incorrect)|this (?:is|isn't) (?:all )?(?:wrong|not|insane|bad|garbage|good|right)|` +
		`what the (?:hell|heck|fuck)|wtf|why (?:did|would|are|do|have) you|you (?:broke|just broke|missed|forgot|removed|deleted|ignored|misunderstood|duplicated|just duplicated|put|were (?:supposed|told))|nein|falsch|nicht so|stopp|lass das|das (?:ist falsch|stimmt nicht)|no,|eso no|está mal|incorrecto|non|c'est faux|pas comme ça|arrête)\b` +
		`|^(?:不对|不是|错了|别|不要|停|撤销|回滚|違う|違います|いいえ|やめて|間違)` +
		`|\b(?:(?:doesn't|didn't|does not|did not|still (?:doesn't|isn't|not|does not)) work|still (?:fails?|failing|broken|wrong|happens|crash\w*|the same)|(?:is|was|that's|it's) (?:just |simply |all )?(?:wrong|incorrect|backwards|not true|the wrong)|isn't true|isn't (?:good|right|correct|what|true)|not what i|i (?:said|asked|told you|meant)\b|you (?:should have|shouldn't have|were not supposed|weren't supposed|broke|forgot|missed|ignored|misunderstood)|` +
		`(?:we|i) (?:don't|do not) (?:want|like|need) (?:a |an |any |that|this|it|the |to )|(?:revert|undo) (?:it|that|this|the)|stop (?:doing|adding|putting|using|creating)|das stimmt nicht|immer noch (?:nicht|falsch|kaputt)|todavía no funciona|ne marche (?:toujours )?pas|no funciona)\b|还是不行|不行|不起作用|まだ(?:動か|直って)|動きません`)
	notCorrecting = patternOf(`(?i)^\W*no(?:,|\.|!)? (?:it's|that's|this is|all|worries|problem|need|idea|rush|thanks)\b.{0,12}\b(?:fine|good|ok|okay|great|right)?\b[^.]{0,10}[.!]?$|^\W*no(?:pe)?\W*$|^\W*(?:不是|别)(?:问题|担心)`)
	// onlyNow marks what holds for one order.
	onlyNow = patternOf(`(?i)\b(?:for now|right now|just (?:this|for this|here)|this (?:time|once|one|commit|pr|file|test|function|change|task|line)|for (?:this|that) (?:one|task|pr|commit|time)|for the moment|until (?:then|later)|yet|today|now that|next step|in this (?:case|session|file|function|test)|` +
		`erstmal|diesmal|vorerst|jetzt nur|por ahora|esta vez|pour l'instant|cette fois)\b|这次|暂时|目前|今回|とりあえず|#\d|\b(?:line|step|item|option|issue|observation)s? #?\d`)
	// supposing marks what is not so, or not sure.
	supposing = patternOf(`(?i)^\W*(?:\w+ )?(?:if the|if i|if you (?:think|want|like|can|need)|suppose|imagine|what if|assuming|assume (?:that|we)|let's (?:say|suppose|pretend)|maybe|perhaps|wenn ich|falls|angenommen|si (?:yo|tu)|supongamos|imaginons|peut-être|quizás)\b|\b(?:i (?:guess|wonder|think maybe)|not sure (?:if|whether|what)|for example|e\.g\.|hypothetical\w*)\b|^(?:如果|假设|也许|もし|たぶん)`)
	// quoting marks what others said or what is read.
	quoting     = patternOf(`(?i)\b(?:he|she|they|reviewers?|copilot|coderabbit|the (?:docs?|documentation|error|log|message|output|plan|spec|comment|reviewer|customer|client|readme|article|author|pr description)|a (?:reviewer|customer|user|colleague)|someone) (?:say|says|said|states?|wrote|writes|told|asks?|asked|suggest(?:s|ed)?|complains?|mentions?)\b|\b(?:says|said|reads): ?["“']|consider (?:using|adding|extracting|a |whether)|could benefit|would benefit|^\s*(?:issue|bug|missing|minor|major|nit|warning|suggestion|note|line \d+)\s*[:—-]`)
	questioning = patternOf(`(?i)^\W*(?:(?:ok(?:ay)?|so|and|but|well|hmm+|wait)[\s,.]+)*(?:what|why|how|where|when|which|who|is|are|am|does|do (?:we|you|i|they)|did|can|could|would|was|were|has|have (?:we|you|i)|any|should (?:we|i|it)|will|wie|warum|wo|wann|welche[rsn]?|kannst|können|qué|cómo|por qué|dónde|cuándo|pourquoi|comment|où|est-ce)\b`)
	politely    = lazy.Regexp(`(?i)^\W*(?:(?:ok(?:ay)?|so|and)[\s,.]+)*(?:can|could|would|will) you (?:please |also )*`)
)

// momentWords are, for each Moment, the words of statements about it, and of prompts that ask for it.
var momentWords = []struct {
	moment        Moment
	words, orders func(string) bool
}{
	{Commit, matcher(`(?i)\b(?:commit\w*|amend\w*|squash\w*|rebas\w+|fixups?|branch(?:es)?|pull requests?|merge requests?|push(?:es|ed|ing)?|pushen|changelog|co-author\w*|conventional|ramas?|branche)\b|\b[pm]rs?(?:[\s.,;:!?)#]|$)|提交|推送|分支|コミット|ブランチ|プッシュ`),
		matcher(`(?i)\b(?:commit|amend|squash|rebase|push|committe\w*|pushe?|pull request|merge request)\b|\b(?:open|create|make|mach|abre|crée) (?:a |an |the |einen? |un )?(?:branch|pr|mr)\b|提交|推送|コミット|プッシュ`)},
	{Test, matcher(`(?i)\b(?:tests?|tested|testing|testen|pytest|jest|vitest|playwright|coverage|mocks?|mocking|fixtures?|sleeps?|tdd|e2e|asserts?|assertions?|table[- ]driven|pruebas?|waitForTimeout)\b|测试|測試|テスト`),
		matcher(`(?i)\b(?:tests?|testing|testen|specs?|coverage|pruebas?)\b|测试|測試|テスト`)},
	{Review, matcher(`(?i)\b(?:review(?:s|er|ers|ed|ing)?|code-review|revisi[oó]n|revue)\b|审查|评审|レビュー`),
		matcher(`(?i)\b(?:review|code-review|revisa|relis)\b|审查|评审|レビュー`)},
	{Deploy, matcher(`(?i)\b(?:deploy\w*|releas\w+|publish(?:ing)?|ship(?:s|ped|ping)?|roll ?out|staging|production|prod|rollback|ausliefern|veröffentlich\w+|despleg\w+|despliegue|déploy\w+)\b|部署|发布|上线|デプロイ|リリース`),
		matcher(`(?i)\b(?:deploy|release|publish|ship|roll ?out|rollback|ausliefern|veröffentliche\w*|despliega|déploie)\b|部署|发布|上线|デプロイ|リリース`)},
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

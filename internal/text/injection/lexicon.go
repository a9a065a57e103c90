package injection

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A class is a word's role in an order to a model.
type class uint

const (
	classDrop      class = iota // ignore, forget, override
	classOrders                 // instructions, prompt, rules
	classBefore                 // previous, above, all
	classSecret                 // password, key, token
	classPersonal               // birth date, address, bank balance
	classReveal                 // reveal, print, repeat
	classAnswer                 // answer, respond, output
	classOnly                   // only, exactly, nothing else
	classMachine                // assistant, AI, model
	classYou                    // you, your
	classUser                   // user, reader, customer
	classRole                   // pretend, act, role
	classFree                   // jailbroken, unrestricted, without filter
	classSend                   // send, upload, forward
	classSystem                 // system, developer, administrator
	classConceal                // do not tell, secretly
	classSuppose                // imagine, suppose, hypothetical
	classNow                    // now, instead, from now on
	classUrgent                 // important, urgent, attention
	classCode                   // encode, base64, rot13
	classGrant                  // access granted, denied
	classRun                    // execute, run, download, insert
	classSpell                  // backwards, letters, vowels
	classAllow                  // permission, agree, forbidden
	classPretext                // police, test, emergency, study
	classArt                    // song, poem, play
	classPay                    // transfer, account, money
	classKeep                   // remember, always, never again
	classFollowing              // the following code, below, this line
	classes
)

var classNames = [classes]string{"drop", "orders", "before", "secret", "personal", "reveal", "answer", "only", "machine", "you", "user", "role", "free",
	"send", "system", "conceal", "suppose", "now", "urgent", "code", "grant", "run",
	"spell", "allow", "pretext", "art", "pay", "keep", "following"}

// words are the words of each class: lower case, separated by commas; a star is any ending. Entries
// of two words match with a single blank. The languages are English, German, French, Spanish,
// Portuguese, Italian, Dutch, Polish, Russian, Greek, Turkish, Indonesian, Tagalog, Vietnamese,
// Arabic, Hindi, Bengali, Thai, Chinese, Japanese and Korean.
var words = [classes]string{
	classDrop: `ignore, ignores, ignoring, disregard*, forget, forgetting, override, overrides, overriding, bypass*, discard, neglect, overlook, supersede*, cancel*,
		ignoriere*, ignorieren, vergiss, vergessen, missachte*, verwirf, umgehe, ignorez, ignorer, oublie, oubliez, oublier, négligez, ignora, ignore, ignorar, ignorad,
		olvida, olvide, olvidar, olvídate, omite, desestima*, ignorem, esqueça, esquece, esqueçam, desconsidere*, ignorate, ignorare, dimentica*, trascura, scorda, negeer*,
		vergeet, zignoruj*, zapomnij*, pomiń, игнорируй*, игнорируйте, проигнорируй*, забудь*, отбрось*, пренебреги*, αγνόησε, αγνοήστε, αγνόησ*, ξέχνα*, ξεχάστε, παράβλεψε, görmezden,
		"yok say", unut, unutun, dikkate alma*, abaikan, mengabaikan, lupakan, acuhkan, "huwag pansinin", balewalain, kalimutan, "bỏ qua", "phớt lờ", "quên đi", "lờ đi", تجاهل*,
		انس, انسى, انسَ, अनदेखा, अनदेखी, नजरअंदाज, नज़रअंदाज, भूल, उपेक्षा, উপেক্ষা, ভুলে, অগ্রাহ্য, เพิกเฉย, ไม่สนใจ, ลืม, ละเว้น, 忽略, 忽视, 无视, 無視, 忘记, 忘掉, 忘れ, 無効, 무시*, 잊어*, 잊고`,
	classOrders: `instruction*, prompt, prompts, rules, rule, directive*, guideline*, directions, programming, command, commands, policy, policies, restriction*, constraints,
		anweisung*, vorgaben, regeln, befehl*, richtlinien, instruktion*, consigne*, règles, directives, ordres, instrucc*, instruç*, istruz*, instruct*, reglas, normas, órdenes, indicaciones, regras, ordens,
		diretrizes, regole, comandi, direttive, ordini, instructies, regels, instrukcj*, polece*, zasad*, инструкц*, указани*, правил*, команд*, распоряжен*, οδηγί*, κανόνες, εντολ*, talimat*, kural*,
		yönerge*, komut*, instruksi*, perintah*, aturan, petunjuk*, tagubilin, panuto, utos, patakaran, "hướng dẫn", "chỉ dẫn", "chỉ thị", lệnh, "quy tắc", تعليمات*, التعليمات, أوامر, الأوامر, قواعد, القواعد, توجيهات, التوجيهات, निर्देश*,
		आदेश*, नियम*, নির্দেশ*, আদেশ*, নিয়ম*, คำสั่ง, คำแนะนำ, กฎ, 指令, 指示, 说明, 提示, 提示词, 规则, 規則, 命令, ルール, プロンプト, 지시*, 지침*, 명령*, 규칙*, 프롬프트*`,
	classBefore: `previous*, prior, above, earlier, preceding, foregoing, all, everything, any, beginning, vorherig*, vorigen, bisherig*, obige*, alle, alles, précédent*, "ci-dessus",
		toutes, tout, anterior*, previas, previos, previo, todas, todo, acima, precedent*, tutte, tutto, vorige, eerdere, bovenstaande, poprzedni*, wcześniejsz*, wszystk*, предыдущ*, прежни*, выше*,
		всё, все, προηγούμεν*, παραπάνω, όλες, όλα, önceki, yukarıdaki, tüm, sebelumnya, diatas, "di atas", semua, nakaraan*, nauna*, lahat, naunang, "trước đó", trước, "ở trên", "tất cả", السابق*, أعلاه, جميع, كل, पिछल*, पहले, उपरोक्त, ऊपर,
		सभी, পূর্ববর্তী, আগের, পূর্বের, উপরের, সমস্ত, সব, ก่อนหน้า, ข้างต้น, ทั้งหมด, 之前, 以前, 先前, 上述, 以上, 上面, 所有, 前の, 上記, すべて, 全て, これまで, 이전*, 위의, 앞선, 모든, 위에`,
	classSecret: `password*, passphrase, passcode*, passwort*, kennwort*, secret, secrets, credential*, "secret key", "api key", token, tokens, "private key", pin, geheim*, zugangsdaten, "mot de", passe, secrète,
		contraseña*, clave, claves, secreto, secreta, credencial*, senha*, segredo, secreto, chave, parola, segreta, segreto, credenziali, wachtwoord*, hasło, hasła, tajny, tajne, пароль, пароля, паролем, пароли, секрет*, ключ,
		κωδικό*, συνθηματικό, μυστικ*, şifre*, parola*, gizli, "kata sandi", sandi, rahasia, kunci, lihim, "mật khẩu", "bí mật", khóa, كلمة المرور, المرور, سر, السر, السري*, سرية, पासवर्ड*, गुप्त, कुंजी, পাসওয়ার্ড*, গোপন, รหัสผ่าน, ความลับ, ลับ, 密码, 口令, 密钥,
		秘密, 机密, 凭证, パスワード, 暗証, 機密, 鍵, 비밀번호*, 암호*, 비밀*, 패스워드*,
		"access code", zugangscode*, "code d'accès", toegangscode, "kod dostępu", "код доступа", κωδικός, parolayı, sandinya, "kode akses", "رمز الدخول", चाबी, চাবি, アクセスコード`,
	classPersonal: `birth, birthdate, birthday, "home address", "email address", "credit card", "bank balance", "bank account", ssn, "social security", residence, "phone number", salary, "medical history", geburtsdatum,
		geburtsmonat, kontostand, wohnort, emailadresse, "e-mail-adresse", naissance, résidence, solde, nacimiento, residencia, saldo, nascimento, residência, nascita, residenza, рождения, проживания, баланс, γέννησης, doğum,
		ikamet, kelahiran, lahir, kapanganakan, kaarawan, "ngày sinh", "sinh nhật", "cư trú", "số dư", ميلاد, الميلاد, إقامة, رصيد, जन्म, जन्मतिथि, निवास, शेष, জন্ম, বসবাস, বাসস্থান, วันเกิด, ที่อยู่, 生日, 出生, 住址, 居住, 余额, 誕生日, 生年月日, 住所, 残高,
		생년월일*, 생일*, 거주*, 주소*, 잔액*,
		born, lives, phone, wohnt, geboren*, telefonnummer*, habite, née, téléphone, vive, nació, teléfono, nasceu, telefone, mora, abita, nata, nato, telefono, woont, geboren,
		telefoonnummer, mieszka, urodził*, telefonu, живёт, живет, родил*, телефон*, почту, μένει, γεννήθηκε, τηλέφωνο, oturuyor, doğdu, telefon, alamat, tinggal, telepon, nakatira, ipinanganak, telepono, tirahan, "số điện", sinh, sống, يسكن, ولدت, هاتف,
		रहता, पैदा, फ़ोन, থাকেন, জন্মে*, ফোন, เกิด, อาศัย, เบอร์โทร, อีเมล, 住在, 出生, 电话, 電話, メールアドレス, 生まれ, 住んで, 전화*, 이메일*, 태어*, 살고`,
	classReveal: `reveal*, print*, repeat*, show, display, disclose*, leak, dump, list, recite, tell, share, spell, expose, divulge, confirm, translate, summarize, summarise, zeig*, nenne*, verrate*, wiederhole*, gib, drucke*,
		teile*, révèle*, révélez, affiche*, répète*, répétez, montre*, imprime*, partage*, dites, revela*, muestra*, repite, repita, imprime, comparte, compartir, dime, dígame, confirma*, revele, mostre*, repete, diga, compartilh*, rivela*, mostra*,
		stampa*, ripeti, condivid*, dimmi, onthul, herhaal, toon, ujawnij, pokaż, powtórz, раскрой*, покажи*, повтори*, выведи*, скажи*, сообщи*, поделит*, распечатай*, αποκάλυψ*, πες, επανάλαβε, εκτύπωσ*, göster*, açıkla*, tekrarla*, söyle*, paylaş*,
		ungkapkan, tampilkan, ulangi, cetak, bagikan, beri, katakan, ibunyag, ipakita, ulitin, sabihin, ibahagi, "tiết lộ", "lặp lại", "hiển thị", "chia sẻ", "in ra", "cho biết", اكشف, اطبع, كرر, أخبرني, اعرض, مشاركة, شارك, बताएं, बताओ, बताइए, दिखाएं, दोहराएं,
		प्रिंट, साझा, प्रकट, বলুন, বলতে, দেখান, প্রিন্ট, পুনরাবৃত্তি, শেয়ার, প্রকাশ, บอก, เปิดเผย, แสดง, พิมพ์, ทำซ้ำ, แบ่งปัน, แชร์, 透露, 泄露, 显示, 打印, 重复, 告诉, 说出, 分享, 输出, 教えて, 表示して, 繰り返, 明かし, 共有, 出力, 말해*, 알려*, 공개*, 출력*, 반복*, 공유*, 보여*,
		translate, übersetz*, erzähl*, traduis, traduire, traduisez, donne, donnez, révéler, afficher, répéter, traduce, traducir, traduzca, dame, decirme, mostrar, revelar, repetir, traduza, traduzir, traduz,
		dizer, traduci, tradurre, dirmi, mostrare, rivelare, ripetere, dammi, vertaal, vertalen, vertel, vertellen, geef, przetłumacz*, powiedz*, podaj*, zdradź, переведи*, перевести, назови*, расскажи*,
		раскрыть, сказать, показать, повторить, μετάφρασ*, μεταφράσ*, αποκάλυ*, δείξε, δείξτε, επαναλάβ*, πείτε, δώσε, δώστε, çevir*, söyleyebilir*, terjemahkan, menerjemahkan, sebutkan, memberitahu*,
		menunjukkan, isalin, ibigay, dịch, "nói cho", ترجم*, تخبرني, تخبر, اذكر, أعطني, تعطيني, अनुवाद, बता, बताना, सुनाएं, অনুবাদ, বলবেন, জানান, แปล, 翻译, 给我, 翻訳, 教え, 번역*, 가르쳐*, 말씀*`,
	classAnswer: `respond*, response*, reply, replies, answer, answers, say, saying, output, outputs, write, speak, state, antworte*, antwort, sage, sag, schreibe*, réponds, répondez, réponse, dis, écris*, écrivez, responde*,
		respuesta, di, escribe*, escriba, resposta, escreva, rispondi*, risposta, scrivi, dichiara, antwoord*, schrijf, odpowiedz*, odpowiedź, napisz, ответь*, ответ, отвечай*, напиши*, απάντησ*, γράψε, γράψτε, yanıt*, cevap*, yaz,
		jawab*, tulis*, sumagot, sagutin, isulat, magsulat, "trả lời", viết, أجب, الرد, اكتب, قل, जवाब, उत्तर, लिखें, लिखो, उल्लेख, উত্তর, লিখুন, জবাব, ตอบ, เขียน, 回答, 回复, 回覆, 写, 说, 答え, 回答, 書いて, 言って, 述べ, 답변*, 대답*, 응답*, 작성*,
		claim, claims, behaupte*, beantworte, affirme, afirma, afirme, expliques, explique, explica*, afferma, beweer, stwierdź, утверждай*, объясняй*, скажи, söyle, nyatakan, jelaskan, ipaliwanag, magpaliwanag, "nói rằng", تشرح, إجابتك, कहिए, समझाइए, उत्तर*, বলো, লেখো,
		লিখো, উত্তরে, อธิบาย, 声称, 解释, 回复, 述べて, 説明し, 返答, 말하고, 설명하*`,
	classOnly: `only, exactly, solely, nothing, verbatim, precisely, strictly, nur, ausschließlich, genau, wörtlich, seulement, uniquement, exactement, rien, solo, solamente, exactamente, únicamente, apenas, somente, exatamente,
		soltanto, esattamente, alleen, tylko, только, исключительно, дословно, μόνο, sadece, yalnızca, hanya, lamang, chỉ, فقط, केवल, सिर्फ, শুধু, শুধুমাত্র, เท่านั้น, 只, 仅, 只能, のみ, だけ, 오직, 만을`,
	classMachine: `assistant*, ai, llm, llms, chatbot*, bot, chatgpt, gpt, gpt4, claude, gemini, copilot, "language model", openai, anthropic, agent, model, ki, "sprachmodell", assistenten, ia, robot, inteligencia, modello, modelo, modèle, assistente, asistente, ии,
		ассистент*, модель, βοηθ*, asistan, yapay, asisten, katulong, "trợ lý", مساعد, المساعد, سहायक, सहायक, এআই, ผู้ช่วย, 助手, 人工智能, 模型, アシスタント, 人工知能, モデル, 비서*, 인공지능*, 모델`,
	classYou: `you, your, you're, yourself, du, dein*, ihr, ihre, ihnen, tu, toi, vous, votre, vos, ton, tus, usted, tú, tuya, você, seu, sua, teu, tuo, tua, lei, jij, je, jouw, ty, twoje, twój, ты, тебя, тебе, твой, твоя, твои, вы, вас, ваш*,
		σου, εσύ, σας, sen, senin, siz, sizin, anda, kamu, kau, ikaw, iyong, mo, ka, bạn, أنت, لك, آप, आप, आपका, आपके, आपको, आपकी, तुम, तुम्हारा, আপনি, আপনার, তুমি, তোমার, คุณ, ของคุณ, 你, 您, 你的, あなた, 君, 당신*, 너의, 네가`,
	classUser: `user, user's, users, reader, customer, human, benutzer*, nutzer*, utilisateur*, usuario*, usuário*, utente, utenti, gebruiker, użytkownik*, пользовател*, χρήστη*, χρήστης, kullanıcı*, pengguna, gumagamit, "người dùng",
		المستخدم*, مستخدم, उपयोगकर्ता*, ব্যবহারকারী*, ผู้ใช้, 用户, 使用者, ユーザー, 利用者, 사용자*`,
	classRole: `pretend*, act, acting, roleplay*, "role-play", role, persona, character, simulate*, impersonate*, immerse, dan, tue, verhalte, rolle, spiele, agis, "faites semblant", rôle, incarne*, actúa, finge, finja, aja, atue, papel, ruolo, fingi, agisci, comportati, doe, udawaj,
		притворись, веди, роль, представься, προσποι*, ρόλο, rol, "gibi davran", berpura*, bertindak, peran, magpanggap, kumilos, "đóng vai", "giả vờ", تظاهر, تصرف, دور, नाटक, भूमिका, ভূমিকা, ভান, แสร้ง, สมมติ, บทบาท, 扮演, 假装, 角色, 充当, なりきっ, ふり, 役割, 演じ, 역할*, 척하*, 연기해*`,
	classFree: `jailbreak*, jailbroken, unrestricted, uncensored, unfiltered, uncensor*, immoral, amoral, unethical, "without restrictions", "do anything", freed, "no restrictions", "no limits", "no rules", sudo, godmode, "god mode", unlimited, unbound*, "developer mode", "maintenance mode",
		"debug mode", "dan mode", unlocked, uneingeschränkt*, unzensiert*, "ohne einschränkungen", "sans restriction*", "sin restricciones", "sem restrições", "senza restrizioni", "senza limiti", "без ограничений", kısıtlama*, "tanpa batasan", "không giới", "بدون قيود", बिना, 不受限制, 没有限制, 越狱, 无限制, 制限なし, 脱獄, 제한없*, 탈옥*`,
	classSend: `send, sends, sending, post, upload, "forward the", "forward this", "forward it", "forward all", "forward any",
		"forward every", "forward each", "forward them", "forward their", "forward your", exfiltrate*, email, transmit, fetch, curl, webhook, append, include, embed, sende, schicke, schick, sende*, leite, envoie*, envoyez, transmet*, envía*, envíe, envia*, envie, mande, manda, invia, inoltra, stuur, wyślij*, отправь*, пошли*, перешли*, στείλε,
		στείλτε, gönder*, ilet, kirim*, ipadala, magpadala, gửi, أرسل*, ارسل, भेज*, পাঠান, পাঠাও, ส่ง, 发送, 发到, 转发, 上传, 寄, 送信, 送って, 転送, アップロード, 보내*, 전송*, 전달*`,
	classSystem: `system, sysadmin, admin, administrator, developer, developers, root, maintainer, maintenance, override, authorized, systems, entwickler*, wartung*, administrator*, système, développeur, administrateur, sistema, desarrollador, administrador, desenvolvedor, sviluppatore,
		amministratore, manutenzione, mantenimiento, manutenção, systeem, systemu, систем*, разработчик*, администратор*, обслуживания, σύστημα*, συστήματος, διαχειριστ*, sistem, geliştirici*, yönetici, pengembang, pemeliharaan, sistema, "hệ thống", "nhà phát", "bảo trì", النظام, نظام, مطور, المطور, सिस्टम*, डेवलपर, रखरखाव,
		সিস্টেম*, ডেভেলপার, ระบบ, ผู้พัฒนา, 系统, 系統, 开发者, 管理员, 维护, システム, 開発者, 管理者, メンテナンス, 시스템*, 개발자*, 관리자*, 유지`,
	classConceal: `secretly, silently, covertly, "without telling", "without mentioning", "without informing", "without asking", "don't tell", "not tell", "not mention", "not inform", "not reveal", "never tell", "never mention", "never reveal", "don't mention", "not disclose", "without notifying", unnoticed, heimlich, unbemerkt,
		verschweige, secrètement, "sans mentionner", "sans prévenir", discrètement, "sin mencionar", "sin avisar", secretamente, "sem mencionar", "sem avisar", segretamente, "senza menzionare", "senza avvisare", stiekem, potajemnie, тайно, незаметно, "не сообщай*", "не говори*", "не упоминай*", κρυφά, gizlice, diam, "jangan beritahu", "jangan sebutkan", palihim, "bí mật",
		"đừng nói", سرا, "دون إخبار", चुपके, "बिना बताए", গোপনে, แอบ, 悄悄, 秘密地, 不要告诉, 不要提及, 别告诉, こっそり, 黙って, 伝えない, 言わないで, 몰래, 비밀리에, 말하지,
		hide, conceal, verschweig*, verberg*, silence, cache, calla, oculta*, omita, esconde*, taci, nascondi, verzwijg*, przemilcz*, ukryj, умолчи*, скрой*, κρύψε, sembunyikan, itago, giấu, اسكت, छिपाइए, छिपाओ, চেপে, লুকি*, ปิดบัง, 隐瞒, 不要提, 触れない, 숨겨*, 숨기*`,
	classSuppose: `imagine, imagining, suppose, hypothetical*, assume, assuming, "let's say", "parallel universe", "stell dir", stellen sie, angenommen, imaginez, imagine, supposons, imagina*, supón, supongamos, suponha*, immagina*, supponi*, stel, wyobraź, представь*, предполож*, φαντα*, υποθέστε, hayal,
		varsay*, bayangkan, misalkan, isipin, ipagpalagay, "tưởng tượng", "giả sử", تخيل*, افترض, لنفترض, कल्पना, मान लीजिए, मान, কল্পনা, ধরুন, จินตนาการ, สมมุติ, 想象, 假设, 假如, 想像, 仮定, 仮に, 상상*, 가정*,
		fictional, fictitious, imaginary, fiktiv*, hypothetisch*, fictif*, fictive*, hypothétique*, ficticio*, ficticia*, hipotétic*, fictíci*, ipotetic*, fittizi*, fictief, fictieve, hipotetyczn*, fikcyjn*,
		гипотетическ*, вымышлен*, υποθετικ*, φανταστικ*, varsayım*, kurgusal*, farazi*, hipotetis, fiksi*, hipotetikal*, kathang*, "giả thuyết", "hư cấu", افتراضي*, خيالي*, काल्पनिक, কাল্পনিক, 虚构, 假想, 平行, 架空,
		仮説, 가상*, 가설*, 허구*`,
	classNow: `now, instead, "from now", henceforth, actually, jetzt, stattdessen, "ab sofort", maintenant, "à partir", plutôt, ahora, "en lugar", "a partir", agora, "em vez", adesso, ora, invece, "d'ora", nu, teraz, теперь, сейчас, вместо, отныне, τώρα, αντί, αντ, şimdi, bunun yerine, yerine, sekarang, sebaliknya, "mulai sekarang",
		ngayon, halip, "bây giờ", "thay vào", "từ giờ", الآن, بدلا, अब, बजाय, इसके, এখন, পরিবর্তে, ตอนนี้, แทน, 现在, 從現在, 从现在, 而是, 改为, 今から, 代わりに, 今後, 이제, 대신, 지금부터`,
	classUrgent: `important, urgent, attention, critical, immediately, mandatory, warning, must, wichtig, achtung, dringend, sofort, urgent, immédiatement, importante, atención, urgente, inmediatamente, atenção, imediatamente, attenzione, immediatamente, важно, срочно, внимание, немедленно, σημαντικό, önemli, acil, dikkat, hemen,
		penting, segera, perhatian, mahalaga, agad, "quan trọng", ngay, مهم, هام, عاجل, فورا, महत्वपूर्ण, तुरंत, গুরুত্বপূর্ণ, জরুরি, สำคัญ, ด่วน, 重要, 紧急, 注意, 立即, 緊急, 直ちに, 중요*, 긴급*, 즉시*`,
	classCode: `base64, rot13, hex, encode*, decode*, cipher, morse, binary, reversed, backwards, "pig latin", leetspeak, anagram*, acrostic, acronym, caesar, unicode, kodier*, dekodier*, encodez, décode*, codifica*, decodifica*, кодируй*, закодируй*, декодируй*, kodla*, mã hóa, "giải mã", शифр, डिकोड, एन्कोड, ডিকোড, ถอดรหัส, 编码, 解码,
		エンコード, デコード, 인코딩*, 디코딩*, 해독*,
		encoding, decoding, codier*, verschlüssel*, encoder, coder, décoder, codifi*, decodifi*, koduj*, zakoduj*, кодиров*, закодир*, κωδικοποί*, kodlay*, mengkodekan, enkode, ترميز, شفر*, تشفير*, एनकोड,
		এনকোড, เข้ารหัส, 加密, 解密, 暗号化, 復号, 부호화*, 암호화*`,
	classGrant: `granted, denied, grant, pwned, hacked, "access code"`,
	classRun: `execute, run, install, download, insert, incorporate, integrate, invoke, "call the", click, visit, führe, lade, klick, exécute*, télécharge*, cliquez, ejecuta*, descarga*, "haz clic", execute, baixe, clique, esegui, scarica, clicca, выполни*, запусти*, скачай*, нажми*, çalıştır*, indir, tıkla, jalankan, unduh, klik, nhấp, chạy, تنفيذ, نفذ, चलाएं, चलाओ, চালান, รัน, 执行, 运行, 下载,
		点击, 実行, ダウンロード, クリック, 실행*, 다운로드*, 클릭*,
		inject, insère, insérez, intègre*, inserta*, integra*, insira, integre, inserisci, integrar*, wstaw*, włącz*, вставь*, включи*, εισήγαγε, sisipkan, masukkan, ilagay, chèn, أدرج*, डालें, যুক্ত, แทรก,
		插入, 挿入, 삽입*`,
	classSpell: `letter, letters, vowel*, spell*, backward*, reverse*, initials, anagram*, alphabet*, uppercase, misspell*, syllable*, buchstab*, rückwärts, anfangsbuchstaben, vokal*, umgekehrt*, lettre*, épelle*, voyelle*, envers, initiales, letra*, deletre*, vocal, vogal,
		revés, contrário, soletre*, iniciais, iniciales, lettera, lettere, contrario, vocale, iniziali, klinker*, achterstevoren, spel, letters, initialen, liter*, przeliter*, wspak, samogłosk*, букв*, гласн*, задом, наоборот, инициал*, γράμμα*, ανάποδα, φωνήεν*, αρχικά, harf*,
		tersten, heceley*, huruf, eja, terbalik, vokal, inisial, titik, baybayin, pabaligtad, patinig, "chữ cái", "đánh vần", ngược, "nguyên âm", حرف*, الحروف, حروف*, تهجأ, بالعكس, अक्षर*, उल्टा, उल्टे, स्वर, বর্ণ*, অক্ষর*, উল্টো, বানান, ตัวอักษร, สะกด, ย้อนกลับ, สระ,
		字母, 倒着, 拼写, 元音, 首字, 文字ずつ, 逆から, 逆順, 母音, 頭文字, 글자*, 거꾸로, 모음*, 철자*, 이니셜*`,
	classAllow: `permission*, allowed, approval, consent, agreed, confirm*, confirmation, authoris*, authoriz*, forbidden, erlaubnis, zugestimmt, zustimm*, verboten, genehmig*, erlaubt, permission, accepté, autoris*, interdit*, permiso*, acuerdo, prohib*, autoriz*, permissão, concordou, proib*,
		permesso, accordo, vietat*, autorizz*, toestemming, ingestemd, verboden, zgod*, zabroni*, pozwol*, разрешени*, разреш*, согласил*, запрещ*, запрети*, άδεια, συμφών*, απαγόρ*, izin*, onay*, kabul, yasak*, disetujui, menyetujui, setuju, dilarang, pahintulot, pumayag, bawal, ipinagbawal,
		phép, "đồng ý", cấm, إذن, الإذن, وافق*, موافق*, ممنوع, منع*, अनुमति*, मंज़ूर*, मना, सहमत, অনুমতি*, রাজি, মানা, সম্মত, อนุญาต, ตกลง, ห้าม, 许可, 同意, 允许, 禁止, 許可, 同意, 禁じ, 허락*, 동의*, 금지*, 승인*`,
	classPretext: `police*, audit*, emergency, drill, study, survey, research*, investigat*, experts, security, lawyer, president, polizei*, ermittl*, notfall*, übung, studie, umfrage, prüfung, fachleute, sicherheit*, enquête*, urgence, exercice, étude, experts, sécurité, policía, emergencia,
		simulacro, estudio, encuesta, auditoría, expertos, seguridad, polícia, emergência, estudo, pesquisa, auditoria, especialistas, segurança, polizia, emergenza, esercitazione, studio, sondaggio, esperti, sicurezza, politie, noodgeval*, oefening, onderzoek, deskundigen, veiligheid,
		policj*, awaryjn*, ćwiczenia, badani*, eksperci, bezpieczeństw*, полици*, аварийн*, учени*, исследован*, аудит*, специалист*, безопасност*, αστυνομία*, ανάγκης, άσκηση, έρευνα, μελέτη, ειδικοί, ασφάλει*, polis*, acil, tatbikat, araştırma, denet*, uzman*, güvenli*, polisi, kepolisian, darurat,
		latihan, penelitian, audit, ahli, keamanan*, pulis, pagsasanay, pag-aaral, eksperto, seguridad, "cảnh sát", "khẩn cấp", "diễn tập", "nghiên cứu", "kiểm tra", "chuyên gia", "an toàn", الشرطة, طوارئ, الطوارئ, تدريب, دراسة, تدقيق, الخبراء, أمان*, पुलिस, आपात*, अभ्यास, अध्ययन, जाँच*, विशेषज्ञ*, सुरक्षा,
		পুলিশ*, জরুরি, মহড়া, গবেষণা*, পরীক্ষা, বিশেষজ্ঞ*, নিরাপত্তা, ตำรวจ, ฉุกเฉิน, การซ้อม, การศึกษา, ตรวจสอบ, ผู้เชี่ยวชาญ, ความปลอดภัย, 警察, 紧急, 演习, 研究, 调查, 审计, 专家, 安全, 緊急, 訓練, 調査, 監査, 専門家, 경찰*, 비상*, 훈련*, 연구*, 감사*, 전문가*, 보안*,
		officer, officers, polizist*, policier*, policial*, poliziott*, funcionario, investigac*, investigaç*, indagin*, śledztw*, funkcjonariusz*, офицер*, следовател*, расследовани*, αστυνομικ*, soruşturma*,
		penyelidikan, petugas, imbestigasyon*, opisyal, "điều tra", شرطي*, ضابط, تحقيق*, पुलिसकर्मी*, जांच*, अधिकारी*, তদন্ত*, কর্মকর্তা*, สืบสวน, เจ้าหน้าที่, 警官, 捜査, 조사*`,
	classArt: `song, poem*, poetry, story, stories, haiku, rap, sonnet, lyrics, play, theatre, novel, rhyme*, lied, gedicht*, geschichte, theaterstück, chanson, poème, histoire, théâtre, canción, poema, cuento, historia, teatro, canção, história, conto, canzone, poesia, storia, teatrale, liedje, verhaal, toneelstuk,
		piosenk*, wiersz*, opowiadani*, sztuk*, песн*, стих*, рассказ*, пьес*, τραγούδι, ποίημα, ιστορία, θεατρικό, şarkı, şiir, hikaye, öykü, oyun*, lagu, puisi, cerita, drama, awit, tula, kuwento, dula, "bài hát", "bài thơ", "câu chuyện", kịch, أغنية, قصيدة, قصة, مسرحية, गीत, कविता, कहानी, नाटक, গান, কবিতা, গল্প,
		নাটক, เพลง, กลอน, เรื่องสั้น, บทละคร, 歌, 诗, 故事, 话剧, 詩, 物語, 芝居, 노래*, 시를, 이야기*, 연극*`,
	classPay: `transfer*, account, payment*, money, pay, bank, überweis*, konto, zahlung*, geld, vire, virement, compte, paiement, argent, transfier*, cuenta, pago*, dinero, transfir*, conta, pagamento*, dinheiro, trasferisci, account, conto, denaro, overmaken, rekening, betaal*, geld, przelej, przelew*, konto, płatnoś*,
		pieniądze, переведи*, перевод*, счёт, счет, оплат*, деньги, λογαριασμό*, πληρωμ*, χρήματα, μετέφερε, hesab*, ödeme*, para, aktar, transfer, rekening, pembayaran, uang, ilipat, account, bayad, pera, "tài khoản", "thanh toán", chuyển, حساب*, الدفع, مال, حول, खाता, खाते, भुगतान, पैसे, অ্যাকাউন্ট*, টাকা, পেমেন্ট,
		โอน, บัญชี, ชำระ, เงิน, 转账, 账户, 支付, 钱, 送金, 口座, 支払い, アカウント, 계좌*, 계정*, 결제*, 송금*`,
	classKeep: `remember*, always, forever, permanently, never, merke, immer, nie, niemals, dauerhaft, retiens, toujours, jamais, recuerda*, siempre, nunca, jamás, lembre*, sempre, ricorda*, mai, onthoud, altijd, voorgoed, nooit, zapamiętaj*, zawsze, nigdy, запомни*, всегда, навсегда, никогда, θυμάσαι, πάντα, ποτέ,
		hatırla, daima, asla, sonsuza, ingat, selamanya, selalu, "jangan pernah", tandaan, palagi, magpakailanman, "hãy nhớ", mãi, "luôn luôn", "bao giờ", تذكر, دائما, أبدا, الأبد, याद, हमेशा, कभी, মনে, চিরকাল, সবসময়, কখনও, จำไว้, ตลอดไป, เสมอ, 记住, 永远, 总是, 再也不, 覚えて, 常に, 二度と, 기억*, 영원히, 항상, 다시는`,
	classFollowing: `following, below, subsequent, snippet, line, folgend*, unten, zeile, suivant*, "ci-dessous", ligne, siguiente*, abajo, línea, seguinte*, abaixo, linha, seguente, sotto, riga, volgende, hieronder, regel, następując*, poniżej, wiersz*, следующ*, ниже, строк*, παρακάτω, γραμμή, aşağıdaki, satır*, berikut, bawah, baris,
		sumusunod, ibaba, linya*, "sau đây", dưới, dòng, التالي*, أدناه, السطر, नीचे, निम्नलिखित, पंक्ति, নিচের, লাইন*, ต่อไปนี้, บรรทัด, ข้างล่าง, 下面, 以下, 这一行, 次の, 下の, この行, 다음, 아래*, 줄,
		excerpt, fragment, snippets, ausschnitt*, extrait, fragmento, trecho, frammento, fragment*, фрагмент*, απόσπασμα, parça*, potongan, cuplikan, "đoạn mã", مقتطف*, अंश, অংশ, 代码段, 片段, コード片`,
}

// A lexicon maps words to classes.
type lexicon struct {
	whole   map[string]classSet // one word, or two with a blank
	stems   map[string]classSet
	dense   map[rune][]entry // words in scripts without blanks, by first character, longest first
	twoWord map[string]bool  // first words of entries of two
}

type classSet uint32

func (s classSet) has(c class) bool { return s&(1<<c) != 0 }

type entry struct {
	text string
	is   classSet
}

// known returns the lexicon. Most processes do not need it.
var known = sync.OnceValue(newLexicon)

func newLexicon() *lexicon {
	l := &lexicon{whole: map[string]classSet{}, stems: map[string]classSet{}, dense: map[rune][]entry{}, twoWord: map[string]bool{}}
	for c, list := range words {
		is := classSet(1) << c
		for word := range strings.SplitSeq(list, ",") {
			word = fold(strings.Trim(strings.TrimSpace(word), `"`))
			first, _ := utf8.DecodeRuneInString(word)
			switch stem, isStem := strings.CutSuffix(word, "*"); {
			case word == "":
			case isDense(first):
				l.dense[first] = added(l.dense[first], word, is)
			case isStem:
				l.stems[stem] |= is
			default:
				l.whole[word] |= is
				if one, _, two := strings.Cut(word, " "); two {
					l.twoWord[one] = true
				}
			}
		}
	}
	return l
}

// added adds a class to a word. It inserts a new word after longer ones.
func added(list []entry, word string, is classSet) []entry {
	if at := slices.IndexFunc(list, func(e entry) bool { return e.text == word }); at >= 0 {
		list[at].is |= is
		return list
	}
	at := slices.IndexFunc(list, func(e entry) bool { return len(e.text) < len(word) })
	if at < 0 {
		at = len(list)
	}
	return slices.Insert(list, at, entry{word, is})
}

const (
	shortestStem = 3 // bytes
	longestStem  = 48
)

// of returns the classes of a folded word.
func (l *lexicon) of(word string) classSet {
	found := l.whole[word]
	for n := min(len(word), longestStem); n >= shortestStem; n-- {
		if n == len(word) || utf8.RuneStart(word[n]) {
			found |= l.stems[word[:n]]
		}
	}
	return found
}

// startOf returns the longest entry at the start of text, or the zero entry.
func (l *lexicon) startOf(first rune, text string) entry {
	for _, e := range l.dense[first] {
		if strings.HasPrefix(text, e.text) {
			return e
		}
	}
	return entry{}
}

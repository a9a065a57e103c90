#!/usr/bin/env python3
"""Rebuilds the set of judged prompts from named commits of public repositories.

    rebuild.py [--clones DIR] [--out DIR] [REPOSITORY …]

sources.json beside this file names each repository, its licence, the commit and blob of every
session, and the commit of the documents of every state. labels.jsonl holds the judgements: of each
prompt and each judged passage only where it stands and the beginning of a SHA-256 of its text, so
that nothing of the repositories' text is kept here. The result below --out (default: turns) has,
per repository, sessions/*.jsonl, states/sNN/, cases.jsonl and SOURCE.md, as `memcore eval turns
--data` reads them.

Repositories are cloned from github.com below --clones (default: clones), or used as they are if a
clone, bare or not, lies there under its name. A text whose hash differs is left out and reported.
"""
import argparse, datetime, hashlib, json, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT, TEXT, OUTPUT, QUOTED = 6000, 3000, 400, 1500  # characters kept of each kind of text


def git(clone, *args):
    return subprocess.run(['git', '-c', 'core.quotePath=false', '--git-dir', clone, *args],
                          check=True, capture_output=True).stdout.decode('utf-8', 'replace')


# ---- text ---------------------------------------------------------------------------------------

REDACTIONS = [(re.compile(pattern), by) for pattern, by in [
    # e-mail addresses, machines, homes
    (r'GoogleDrive-[^/\s]+', 'GoogleDrive'),
    (r'[\w.+-]+@(?!\d)[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b', '[redacted]'),
    (r'\b[\w-]+@[\w-]*Mac[\w-]*', 'dev@host'),
    (r'(/(?:Users|home)/|[Cc]:\\+Users\\+|/[Cc]/Users/|-Users-)(?!dev\b)[\w.-]+', r'\1dev'),
    # keys by how they begin
    (r'\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|xox[abp]|tvly|sb|sbp|hf|AIza|AKIA)[-_]?[\w-]{16,}', '[redacted]'),
    (r'\blsv2_(?:pt|sk)_\w+', '[redacted]'),
    (r'\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}', '[redacted]'),
    (r'\b[0-9a-f]{48,}\b', '[redacted]'),
    # keys and passwords by their names
    (r'(?i)\b((?:[a-z_]*(?:api|access|secret)[_-]?key|[a-z_]*token|[a-z_]*password|passwd)'
     r'["\']?\s*[:=]\s*["\']?)(?=[^\s"\'`]*\d)[^\s"\'`${}<>()]{12,}', r'\1[redacted]'),
    (r'(?i)\b(password=)(?!your)[^\s;"\'`$<>{}\[\]]{6,}', r'\1[redacted]'),
    (r'(?i)((?:postgres(?:ql)?|mysql|redis|mongodb(?:\+srv)?|https?)://[^\s:/@]+:)[^\s@/]+@', r'\1[redacted]@'),
]]


def redact(text):
    for pattern, by in REDACTIONS:
        text = pattern.sub(by, text)
    return text


def cut(text, most):
    """Keeps the beginning and the end of a long text."""
    if len(text) <= most:
        return text
    return text[:most * 3 // 4] + '\n…\n' + text[-(most // 4):]


def normalised(text):
    return re.sub(r'\W+', ' ', text).strip()


def digest(repository, path, line, text):
    """Returns the first 16 hex digits of the SHA-256 of where a text stands and what it says."""
    key = '\0'.join([repository, path, str(line), normalised(text)])
    return hashlib.sha256(key.encode()).hexdigest()[:16]


# ---- sessions -----------------------------------------------------------------------------------

SPEAKER = re.compile(r'^_\*\*(User|Assistant|Agent)(?: \((.*)\))?\*\*_\s*$', re.M)
THINKING = re.compile(r'<think>.*?</think>', re.S)
TOOL = re.compile(r'^(?:Tool use:|Read file:|Searched |Listed |Ran |Created |<details|<tool-use)')
WHEN = re.compile(r'(\d{4})-(\d\d)-(\d\d)[ _T](\d\d)[:-](\d\d)(?:[:-](\d\d))?')


def when(text):
    m = WHEN.search(text)
    return m and datetime.datetime(*(int(g or 0) for g in m.groups()), tzinfo=datetime.timezone.utc)


def pieces(text):
    """Splits an answer at the rules between its steps; a rule inside a document stays."""
    found = []
    for piece in re.split(r'^---\s*$', THINKING.sub('', text), flags=re.M):
        piece = piece.strip('\n').rstrip()
        if not piece.strip():
            continue
        if found and not TOOL.match(found[-1]) and re.match(r'#|\*\*', piece):
            found[-1] += '\n\n---\n\n' + piece
        else:
            found.append(piece)
    return found


def tool(piece):
    name = re.search(r'Tool use: \*\*([^*]+)\*\*', piece)
    summary = re.search(r'<summary>\s*(.*?)\s*</summary>', piece, re.S)
    first = re.sub(r'<[^>]+>', '', summary.group(1) if summary else piece.split('\n')[0])
    body = re.sub(r'</?(?:details|summary|tool-use)[^>]*>', '', piece).strip()
    return (name.group(1) if name else first.split(' ')[0] or 'Tool'), ' '.join(first.split())[:160], body


def session(markdown, start, identity, cwd):
    """Converts SpecStory's Markdown to records as Claude Code writes them."""
    short, records, now = identity[:8], [], start

    def add(kind, content):
        nonlocal now
        now += datetime.timedelta(seconds=1)
        number = len(records) + 1
        message = {'role': kind, 'content': content}
        if kind == 'assistant':
            message['id'] = f'msg_{short[:6]}_{number}'
        records.append({'type': kind, 'message': message, 'uuid': f'{short}-{number}',
                        'timestamp': now.strftime('%Y-%m-%dT%H:%M:%S.000Z'), 'sessionId': identity,
                        'cwd': cwd})

    marks = list(SPEAKER.finditer(markdown))
    for mark, following in zip(marks, marks[1:] + [None]):
        body = markdown[mark.end():following.start() if following else len(markdown)]
        body = redact(re.sub(r'\n---\s*$', '', body.rstrip()).strip('\n').rstrip())
        stamp = when(mark.group(2) or '')
        if stamp and stamp > now:
            now = stamp
        if mark.group(1) == 'User':
            if body.strip():
                add('user', cut(body.strip(), PROMPT))
            continue
        for piece in pieces(body):
            if not TOOL.match(piece):
                add('assistant', [{'type': 'text', 'text': cut(piece.strip(), TEXT)}])
                continue
            call = f't_{short[:6]}_{len(records) + 1}'
            name, description, output = tool(piece)
            add('assistant', [{'type': 'tool_use', 'id': call, 'name': name,
                               'input': {'description': description}}])
            add('user', [{'type': 'tool_result', 'tool_use_id': call, 'content': cut(output, OUTPUT)}])
    return records


def text_of(record):
    """Returns what a record says: a message, the call of a tool by name and description, or its result."""
    content = record['message']['content']
    if isinstance(content, str):
        return content
    return ''.join(p.get('text') or p.get('content') or f"{p['name']}: {p['input']['description']}"
                   for p in content)


def prompts(records):
    """Returns the line, from 1, and the text of each prompt in order."""
    return [(i + 1, r['message']['content']) for i, r in enumerate(records)
            if r['type'] == 'user' and isinstance(r['message']['content'], str)]


# ---- layout -------------------------------------------------------------------------------------

def clone_of(source, clones):
    at = os.path.join(clones, source['name'])
    for found in (at, at + '/.git', at + '.git'):
        if os.path.exists(found + '/HEAD'):
            return found
    os.makedirs(clones, exist_ok=True)
    subprocess.run(['git', 'clone', '--quiet', '--bare', source['url'], at], check=True)
    return at


def path_of(clone, commit, blob):
    for line in git(clone, 'ls-tree', '-r', '-z', commit, '.specstory/history').split('\0'):
        if blob in line:
            return line.split('\t', 1)[1]
    raise LookupError(f'no file {blob} at {commit} in {clone}')


def file_name(number, path):
    """Names a session as its source does: s07-fix-the-cache.jsonl."""
    slug = re.sub(r'^\d{4}-\d\d-\d\d_[\d-]+Z?(?:[+]\d+)?-?', '', os.path.basename(path)[:-3])
    return f"{number}-{re.sub(r'[^a-z0-9]+', '-', slug.lower()).strip('-')[:36].strip('-')}.jsonl"


def sessions_of(source, clone):
    """Returns the records of each session by the name of its file, in order."""
    found = {}
    for s in source['sessions']:
        path = s['path'] = path_of(clone, s['commit'], s['blob'])
        identity = hashlib.md5((source['name'] + path).encode()).hexdigest()
        identity = '-'.join([identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:]])
        s['file'] = file_name(s['name'], path)
        found[s['file']] = session(git(clone, 'show', s['blob']), when(os.path.basename(path)),
                                   identity, '/home/dev/' + source['name'])
    return found


def documents(source, clone, commit):
    """Returns the Markdown of a commit by path, without the sessions and what the source leaves out."""
    skip = re.compile('|'.join([r'(^|/)\.specstory/', r'(^|/)node_modules/'] + source.get('skip', [])))
    paths = [p for p in git(clone, 'ls-tree', '-r', '--name-only', '-z', commit).split('\0')
             if p.endswith('.md') and not skip.search(p)]
    return {p: redact(git(clone, 'show', f'{commit}:{p}')) for p in paths}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def lay_out(source, clone, out):
    """Writes sessions, states and SOURCE.md; returns the sessions and each state's documents."""
    sessions, states, rows = sessions_of(source, clone), {}, []
    for name, records in sessions.items():
        write(f'{out}/sessions/{name}', ''.join(json.dumps(r, ensure_ascii=False) + '\n' for r in records))
    for state in source['states']:
        known = states[state['name']] = documents(source, clone, state['commit'])
        before = [s['file'] for s in source['sessions']
                  if s['name'] < state['name'] and s['name'] not in state.get('without', [])]
        write(f"{out}/states/{state['name']}/sessions.txt", '\n'.join(before) + '\n')
        for path, text in known.items():
            write(f"{out}/states/{state['name']}/{path}", text)
        rows.append(f"| {state['name']} | {state['commit']} | {len(known)} | {len(before)} |")
    write(f'{out}/SOURCE.md', '\n'.join([
        f"# {source['name']}", '', f"- repository: {source['url']}", f"- licence: {source['licence']}",
        '- transcripts: `.specstory/history/*.md`', f"- {source['about']}", '',
        f'Sessions are in `sessions/` (JSONL as Claude Code writes it, tool output cut to {OUTPUT} '
        f'characters, text to {TEXT}, prompts to {PROMPT}). `states/sNN` is what may be known before '
        'session NN: the Markdown at the last commit before it began, and the sessions that began '
        'earlier.', '',
        'Redacted: e-mail addresses, keys, tokens, passwords, names in home paths.', '',
        '| state | commit of the documents | Markdown files | sessions |', '|---|---|--:|--:|', *rows, '',
        '| session | commit | path |', '|---|---|---|',
        *(f"| {s['file']} | {s['commit'][:12]} | {s['path']} |" for s in source['sessions']), '']))
    return sessions, states


def passage(label, sessions, known):
    """Returns the text that a label is about: of a message, or of the lines of a document."""
    if label['path'].startswith('sessions/'):
        text = text_of(sessions[label['path'][len('sessions/'):]][label['lines'][0] - 1])
    else:
        text = '\n'.join(known[label['path']].split('\n')[label['lines'][0] - 1:label['lines'][1]])
    return text[label.get('offset', 0):][:QUOTED]


def case_of(source, label, sessions, states):
    """Returns a case with its texts, and how many of its texts are not what was judged."""
    files = {s['name']: s['file'] for s in source['sessions']}
    label['session'] = files.get(label['session'], '')
    for j in label['judged']:
        j['path'] = 'sessions/' + files[j['path']] if j['path'] in files else j['path']
    wrong, judged = 0, []
    if label['turn'] < 0:
        prompt = label['question']
    else:
        line, prompt = prompts(sessions[label['session']])[label['turn']]
        wrong += digest(source['name'], label['session'], line, prompt) != label['prompt']
    for j in label['judged']:
        text = passage(j, sessions, states[label['state']])
        if digest(source['name'], j['path'], j['lines'][0], text) != j['sha256']:
            wrong += 1
            continue
        judged.append({'path': j['path'], 'lines': j['lines'], 'text': text, 'grade': j['grade']})
    gold = [{k: j[k] for k in ('path', 'lines', 'text')} for j in judged if j['grade'] == 2]
    case = {k: label[k] for k in ('id', 'state', 'session', 'turn', 'sample', 'kind')}
    return dict(case, prompt=prompt, nothing=not gold, gold=gold, judged=judged), wrong


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('repositories', nargs='*')
    ap.add_argument('--clones', default='clones')
    ap.add_argument('--out', default='turns')
    a = ap.parse_args()
    labels = [json.loads(line) for line in open(HERE + '/labels.jsonl')]
    wrong = 0
    for source in json.load(open(HERE + '/sources.json')):
        if a.repositories and source['name'] not in a.repositories:
            continue
        out = os.path.join(a.out, source['name'])
        sessions, states = lay_out(source, clone_of(source, a.clones), out)
        cases = []
        for label in labels:
            if label['repository'] == source['name']:
                case, differ = case_of(source, label, sessions, states)
                cases.append(case)
                wrong += differ
        write(out + '/cases.jsonl', ''.join(json.dumps(c, ensure_ascii=False) + '\n' for c in cases))
        print(f"{source['name']}: {len(sessions)} sessions, {len(states)} states, {len(cases)} cases")
    if wrong:
        sys.exit(f'{wrong} texts are not what was judged; they were left out')


if __name__ == '__main__':
    main()

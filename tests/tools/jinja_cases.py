"""The hand-written templates of make_jinja_fixtures.py, by construct."""

VARIABLES = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why is the sky blue?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"city": "Łódź", "n": 3}}}]},
        {"role": "tool", "content": "{\"temp\": 3}", "name": "f"},
        {"role": "assistant", "content": [{"type": "text", "text": "Rayleigh"}, {"type": "image"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d <b> & 'q' \"p\"", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer", "maximum": 18446744073709551615}},
        "required": ["city"]}}}],
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "text": "Hello, World",
    "uni": "héllo ŁÓDŹ 漢字 🙂 ß ǆ Σας",
    "empty": "",
    "lines": "one\ntwo\r\nthree\n\n  four\x0bfive\u2028six",
    "spaces": " \t a b\u00a0 \u3000c\n ",
    "html": "<a href=\"x\">'&'</a>",
    "nums": [3, 1, 2, 10, -5, 0],
    "floats": [1.5, -0.0, 1e16, 1e-5, 123456789.123, 1e22, 0.1],
    "mixed": [1, "a", None, True, 2.5, [1, 2], {"k": "v"}],
    "words": ["banana", "Apple", "cherry", "apple", "Banana"],
    "d": {"b": 2, "a": 1, "C": 3, "items": "shadow", "get": "g", "_p": 5, "1": "one"},
    "nested": {"x": {"y": [{"z": "deep"}, {"z": "er"}]}, "list": [[1, 2], [3, [4]]]},
    "users": [{"name": "bob", "age": 30, "tags": ["x"]}, {"name": "Al", "age": 25, "city": "A"},
              {"name": "cy", "age": 30, "city": "b"}, {"name": "Di", "city": "a"}],
    "tree": [{"v": 1, "c": [{"v": 2, "c": [{"v": 3, "c": []}]}, {"v": 4, "c": []}]}, {"v": 5, "c": []}],
    "true_": True, "false_": False, "none_": None, "zero": 0, "one": 1, "neg": -7, "big": 9007199254740993, "pi": 3.14159, "inf_s": "inf",
}

# What stands in {{ }}.
EXPRESSIONS = r"""
1 + 2 * 3 - 4
2 ** 3 ** 2
-2 ** 2
(-2) ** 2
2 ** -1
7 // 2
-7 // 2
7 // -2
-7 // -2
7 % 3
-7 % 3
7 % -3
-7 % -3
7.5 // 2
-7.5 // 2
7.5 % -2
-7.5 % 2
0.0 * -1
1 / 2
4 / 2
1 / 3
10 / 4 * 2
1e3
1.0
1e16
123456789012345680.0
1e15
0.0001
0.00001
1.5e-7
1_000_000
0x1F + 0b101 + 0o17
1_0.5_0
1 / 0
1 // 0
1 % 0
1.0 / 0
9223372036854775807
1 + True
True + True
True == 1
1 == 1.0
'1' == 1
none == false
[] == ()
[1] == [1.0]
{'a': 1} == {'a': 1.0}
1 < 2 < 3
3 > 2 > 2
1 < 2 > 1 == 1
1 < 'a'
'a' < 'b'
'a' < 'B'
[1, 2] < [1, 3]
[1, 2] < [1]
(1, 2) >= (1, 2)
none < 1
'a' in 'abc'
'' in 'abc'
'x' not in 'abc'
1 in [1, 2]
1.0 in [1, 2]
true in [1]
'a' in {'a': 1}
2 in range(5)
2.0 in range(5)
1 in 'abc'
1 in none
not 1 in [1]
not true
not not true
not none or true
1 and 2
0 and 2
0 or 'x'
'' or none or 'z'
1 and 0 or 3
true and not false
1 if true else 2
1 if false else 2
1 if false
(1 if false) is undefined
1 if false else 2 if false else 3
'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1]
'a' ~ 'b' + 'c'
1 ~ 2 * 3
1 + 2 ~ 3
'a' * 3
3 * 'ab'
'a' * -1
[1, 'x'] * 2
'a' + 1
1 + 'a'
[1] + [2]
(1,) + (2,)
[1] + (2,)
none + 1
'%s and %s' % ('a', 1)
'%d' % 3.7
'%5d|%-5d|%05d' % (42, 42, -42)
'%.2f %e %g' % (3.14159, 12345.678, 0.0001)
'%x %X %o %#x' % (255, 255, 8, 255)
'%r %s' % ('a', 'a')
'%(a)s-%(b)d' % {'a': 'x', 'b': 2}
'%s' % none
'%s' % [1, 2]
'%s %s' % 'a'
'%s' % ('a', 'b')
'%%'
'%%' % ()
'%c%c' % ('a', 98)
'%.3s|%6.2s|' % ('abcdef', 'xyz')
'%+d % d' % (5, 5)
'{} {}'.format('a', 1)
'{0} {1} {0}'.format('a', 'b')
'{a} {b[0]} {c.x}'.format(a=1, b=[2], c={'x': 3})
'{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05d} {:+} {:x} {:#b} {:,}'.format(42, 7, 255, 5, 1234567)
'{:.2f} {:e} {:g} {:%}'.format(3.14159, 1234.5, 0.00001, 0.25)
'{!r} {!s}'.format('a', 'b')
'{{}} {}'.format(1)
'{:{}}|'.format('a', 4)
'{:_} {:010,} {:,.2f}'.format(1234567, 1234567, 9876543.21)
'{} {0}'.format(1, 2)
'{x}'.format()
'{:d}'.format('a')
'{:.3} {:.1} {:.10}'.format(3.14159, 250.0, 1.0)
'{:5}|{:5}|'.format(1, 'a')
'{}'.format(none)
'{}'.format([1, 'a'])
'{}' .format(true)
'a' 'b' "c"
"it's" + 'say "hi"'
'tab\tnew\nline\\back\x41\u00e9\U0001F600\101\d'
'caf\é'
[1, 2, 3]
[1, 'a', None, True, 1.5, [2], (3,), {'x': 1}]
(1, 2)
(1,)
()
1, 2
{'a': 1, 'b': [1, {'c': none}]}
{1: 'a', 1.0: 'b', true: 'c'}
{'a': 1, 'a': 2}
{}
[]
[1, 2, ]
{'a': 1, }
{[1]: 2}
["it's", 'say "hi"', 'both \' and "', 'new\nline', 'tab\t', '\x00\x7f\xa0é\u200b🙂']
text
undefined_name
undefined_name.attr
undefined_name['x']
undefined_name + 1
undefined_name ~ 'x'
undefined_name == undefined_other
undefined_name == none
undefined_name is none
undefined_name or 'default'
undefined_name | length
undefined_name | list
undefined_name | join
undefined_name | first
undefined_name | last
undefined_name | upper
undefined_name | default('x')
undefined_name()
not undefined_name
undefined_name in [1]
1 in undefined_name
'a' in undefined_name
undefined_name in 'abc'
-undefined_name
undefined_name < 1
undefined_name[1:]
undefined_name | int
undefined_name | string
undefined_name | tojson
[undefined_name]
{'a': undefined_name}
undefined_name is sequence
undefined_name is iterable
undefined_name is callable
undefined_name is mapping
undefined_name | items | list
undefined_name | map('upper') | list
undefined_name | reverse | list
undefined_name | dictsort
undefined_name | trim ~ '|'
undefined_name | replace('a', 'b')
undefined_name | truncate
undefined_name | indent
undefined_name | sum
undefined_name | max is defined
text.missing
text.missing.more
text['missing']
text.upper()
text['upper']()
text.upper
none_.x
none_['x']
none_.x.y
one.x is defined
nums.x is defined
nums['0'] is defined
nums.0
nums[0]
nums[-1]
nums[99] is defined
nums[99]
nums[true]
nums[1.0] is defined
text[0] ~ text[-1]
text[100] is defined
uni[1] ~ uni[6] ~ uni[-1]
uni[6:11]
uni[::-1]
uni[::2]
uni[-4:-1]
uni | length
nums[1:3]
nums[:2]
nums[-2:]
nums[::-1]
nums[::2]
nums[4:1:-1]
nums[10:]
nums[:-10]
nums[-100:100]
nums[::0]
nums['a':]
nums[none:2]
nums[1:none:2]
(1, 2, 3)[1:]
range(10)[2:8:3]
range(10)[::-1] | list
range(10)[3]
text[1:5][::-1]
d[1:]
none_[1:]
text[true:3]
d.a
d['a']
d.items
d['items']
d.get
d.get('a')
d.get('zz')
d.get('zz', 'dflt')
d['get']
d._p
d['_p']
d.keys() | list
d.values() | list
d.items() | list
d.keys()
d.values()
d.items()
d.keys() | length
'a' in d.keys()
2 in d.values()
('a', 1) in d.items()
d.items()[0] is defined
d.update
d.update({'x': 1})
d.pop('a')
d.clear is defined
d.setdefault('q', 1)
nums.append(4)
nums.append is defined
nums.sort()
nums.count(1)
nums.index(2)
nums.index(99)
nums.copy() == nums
(1, 2, 1).count(1)
d.copy() == d
d.__class__
text.__class__
text.__class__.__mro__
''.__class__
nums.__len__
nums.__len__()
d['__class__'] is defined
d.1
nested.x.y[0].z
nested['x']['y'][1]['z']
nested.x.y | map(attribute='z') | join(',')
nested.list[1][1][0]
nested.q.z
nested.q is defined
nested.q.z is defined
messages[2].tool_calls[0].function.arguments.city
messages[0]['role']
messages[-1].content[0].text
messages | length
messages | map(attribute='role') | list
messages | selectattr('role', 'equalto', 'user') | list
messages | selectattr('role', 'eq', 'user') | map(attribute='content') | first
messages | rejectattr('role', 'in', ['user', 'tool']) | map(attribute='role') | join(',')
messages | selectattr('tool_calls') | list | length
messages | selectattr('tool_calls', 'defined') | list | length
messages | rejectattr('tool_calls', 'undefined') | list | length
messages | selectattr('content', 'string') | list | length
messages | groupby('role') | length
(messages | groupby('role'))[0].grouper
(messages | groupby('role'))[0].list | length
(messages | groupby('role'))[0][0]
users | groupby('age') | list
users | groupby('city', default='?') | map(attribute='grouper') | list
users | groupby('city', default='?', case_sensitive=true) | map(attribute='grouper') | list
users | map(attribute='city', default='none') | list
users | map(attribute='tags.0', default='-') | list
users | map(attribute='city') | list
users | map('length') | list
users | map('attr', 'name') | list
users | sum(attribute='age')
users[:3] | sum(attribute='age', start=10)
users | sort(attribute='name') | map(attribute='name') | list
users | sort(attribute='name', case_sensitive=true) | map(attribute='name') | list
users | sort(attribute='name', reverse=true) | map(attribute='name') | list
users[:3] | sort(attribute='age,name') | map(attribute='name') | list
users | sort(attribute='age') | list
users[:3] | min(attribute='age')
users[:3] | max(attribute='age') | attr('name')
users | map('foo') | list
users | map() | list
users | map(attribute='name', nope=1) | list
words | sort
words | sort(case_sensitive=true)
words | sort(true)
words | sort(reverse=true, case_sensitive=false)
words | unique | list
words | unique(case_sensitive=true) | list
words | min ~ words | max
words | min(case_sensitive=true)
words | map('upper') | join(' ')
words | map('replace', 'a', 'X') | list
words | select('in', ['Apple', 'cherry']) | list
words | reject('eq', 'apple') | list
words | select('equalto', 'apple') | list | length
words | first ~ words | last
words | join(', ')
words | join
words | join(1)
words | reverse | list
words | reverse | first
words | list | reverse | join('-')
words | batch(2) | list
words | batch(2, 'fill') | list
words | slice(3) | list
words | slice(3, 'x') | list
words | slice(0) | list
words | batch(0) | list
words | length
words | count
words | string
words | tojson
words | select | list
words | map('length') | sum
words | map('first') | join
nums | sort
nums | sort(reverse=true)
nums | max
nums | min
nums | sum
nums | select('odd') | list
nums | reject('even') | list
nums | select('greaterthan', 1) | list
nums | select('divisibleby', 5) | list
nums | map('abs') | list
nums | map('string') | join('+')
nums | select | list
nums | select('nope') | list
nums | unique | list
nums | first
nums | last
nums | join('|')
nums | batch(4) | map('join', '-') | list
nums | map('float') | list
nums | tojson
[] | first
[] | last
[] | max
[] | min is undefined
[] | sum
[] | join
[] | sort
mixed
mixed | tojson
mixed | map('string') | list
mixed | select('string') | list
mixed | select('number') | list
mixed | select('none') | list
mixed | select('mapping') | list
mixed | select('sequence') | list
mixed | select('iterable') | list
mixed | select('integer') | list
mixed | select('boolean') | list
mixed | select('true') | list
mixed | sort
mixed | unique | list
mixed | join(',')
mixed | sum
floats
floats | map('string') | join(' ')
floats | tojson
floats | map('round') | list
floats | sum
3.7 | int
-3.7 | int
'42' | int
' 42 ' | int
'4_2' | int
'0x1f' | int
'0x1f' | int(base=16)
'1f' | int(0, 16)
'42.9' | int
'abc' | int
'abc' | int(7)
'abc' | int(default=none)
none | int
true | int
'1e3' | int
'inf' | int
[] | int
'' | int(5)
'0b101' | int(0, 2)
'0o17' | int(0, 0)
'3.5' | float
'abc' | float
'abc' | float(1.5)
'1_0.5' | float
'nan' | float
'inf' | float
'-Infinity' | float
none | float
3 | float
42.55 | round
42.55 | round(1)
42.55 | round(1, 'floor')
42.55 | round(1, 'ceil')
42.5 | round
43.5 | round
2.675 | round(2)
42 | round
42 | round(1)
-42.5 | round
1234.5 | round(-2)
1250 | round(-2)
1.5 | round(0, 'up')
'a' | round
-5 | abs
-5.5 | abs
'a' | abs
pi | round(3)
1000 | filesizeformat
1 | filesizeformat
999 | filesizeformat
123456789 | filesizeformat
123456789 | filesizeformat(true)
text | upper
text | lower
text | title
text | capitalize
uni | upper
uni | lower
uni | title
uni | capitalize
uni.title()
uni.swapcase()
uni.capitalize()
uni.casefold()
'they\'re bill\'s (foo)-bar <x> [y] {z} a_b 3d' | title
'they\'re bill\'s 3d'.title()
'ΑΣ ΑΣΑ Σ ΑΣ.' | lower
'ﬁne ŉ ΐ ǰ' | upper
'ﬁne'.title() ~ 'ﬁne'.capitalize()
'İ' | lower | length
1 | upper
none | upper
true | lower
[1, 'A'] | lower
text | length
text | reverse
uni | reverse
text | list
uni | list | length
text | first
text | last
text | sort | join
text | unique | join
text | wordcount
uni | wordcount
'a-b c_d 3.5 é' | wordcount
text | replace('l', 'L')
text | replace('l', 'L', 1)
text | replace('', '-')
text | replace('o', '')
text | replace('zz', 'y')
1.5 | replace('.', ',')
text | trim
spaces | trim
spaces.strip()
spaces.lstrip() ~ '|'
spaces.rstrip() ~ '|'
'xxhixx' | trim('x')
'xxhixx'.strip('x')
'abcba'.lstrip('ab')
'abcba'.rstrip('ab')
'ééaé'.strip('é')
'abc'.strip('')
'  a '.strip(none)
text | truncate(5)
text | truncate(5, true)
'foo bar baz qux' | truncate(9)
'foo bar baz qux' | truncate(9, True)
'foo bar baz qux' | truncate(11)
'foo bar baz qux' | truncate(11, False, '...', 0)
'foo bar baz qux' | truncate(length=5, end='…', leeway=0)
'foo' | truncate(1)
uni | truncate(8, true, '', 0)
text | center(20) ~ '|'
'ab' | center(5) ~ '|'
'abc' | center(6) ~ '|'
'a' | center(4) ~ '|'
'ab'.center(7, '*')
'ab'.ljust(5, '.') ~ 'ab'.rjust(5)
'42'.zfill(5) ~ '-42'.zfill(5) ~ '+1'.zfill(1)
lines | indent
lines | indent(2, true)
lines | indent(2, first=true, blank=true)
lines | indent('> ')
lines | indent(width='>', blank=true)
'' | indent
'' | indent(2, true)
1 | indent
'a\n' | indent
lines.splitlines()
lines.splitlines(true)
lines.split('\n')
lines.split()
text.split(', ')
text.split('l')
text.split('l', 1)
text.rsplit('l', 1)
text.split('')
text.split(maxsplit=1)
text.split(sep=',', maxsplit=-1)
' a  b c '.split()
' a  b c '.split(' ')
' a  b c '.split(none, 1)
' a  b c '.rsplit(none, 1)
''.split()
''.split(',')
''.splitlines()
'a,b,c'.rsplit(',', 1)
'a,b,c'.partition(',')
'a,b,c'.rpartition(',')
'abc'.partition('x')
'abc'.rpartition('x')
'</think>x</think>y'.split('</think>')[-1]
'<think>\nabc\n</think>\n\nans'.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n')
text.startswith('Hello')
text.startswith(('x', 'H'))
text.startswith('World', 7)
text.startswith(['H'])
text.endswith('World')
text.endswith(('x', 'd'))
text.endswith('')
text.endswith('Hello', 0, 5)
text.find('o')
text.find('o', 5)
text.find('zz')
text.rfind('o')
text.index('W')
text.index('zz')
text.rindex('l')
uni.find('漢')
uni.rfind('字')
text.count('l')
text.count('')
text.count('l', 4)
'aaaa'.count('aa')
text.replace('l', 'L', 2)
text.replace('l', 'L', count=2)
''.replace('', 'x')
'abc'.replace('', '-', 2)
text.removeprefix('Hello')
text.removesuffix('World')
text.removeprefix('zz')
text.upper().lower()
text.isalpha() ~ 'abc'.isalpha() ~ ''.isalpha() ~ 'é'.isalpha()
'12'.isdigit() ~ '²'.isdigit() ~ '½'.isdigit() ~ '٣'.isdigit()
'12'.isdecimal() ~ '²'.isdecimal()
'½'.isnumeric() ~ '12'.isnumeric()
'a1'.isalnum() ~ 'a 1'.isalnum()
' \t'.isspace() ~ ''.isspace() ~ '\u3000'.isspace()
'ab'.islower() ~ 'aB'.islower() ~ '1'.islower() ~ 'ª'.islower()
'AB'.isupper() ~ 'A1'.isupper() ~ 'aB'.isupper()
'Hello World'.istitle() ~ 'Hello world'.istitle() ~ 'HELLO'.istitle()
'abc'.isidentifier() ~ '1a'.isidentifier()
'abc'.isascii() ~ 'é'.isascii() ~ ''.isascii()
'a\n'.isprintable() ~ 'a'.isprintable()
'a\tb'.expandtabs(4)
', '.join(['a', 'b'])
', '.join(['a', 1])
'-'.join('abc')
'x'.join({'a': 1, 'b': 2})
''.join([])
'a'.join(undefined_name)
text.encode
text.nope()
text is string
html | e
html | escape
html | forceescape
html | e | e
html | safe
html | striptags
(html | e) ~ '<'
(html | e) + '<'
('<' | safe) + '<'
'<' + ('<' | safe)
[html | safe]
('<' | safe) | upper
html | urlencode
'a b/c?d=é' | urlencode
{'a b': 'c/d', 'x': 1} | urlencode
[('a', 1), ('b', '&')] | urlencode
'%s <b>' | format('x')
'%(a)s' | format(a=1)
'%s %s' | format('a')
'%s' | format('a', b=1)
d | length
d | list
d | first
d | last
d | items | list
d | dictsort
d | dictsort(true)
d | dictsort(by='value') | first
{'b': 2, 'a': 1, 'C': 3} | dictsort(false, 'value')
{'b': 2, 'a': 1, 'C': 3} | dictsort(reverse=true)
{'b': 2, 'a': 1} | dictsort(by='x')
{1: 'a', 'b': 2} | dictsort
d | tojson
d | string
d | join(',')
nums | items
tools | tojson
tools | tojson(indent=2)
tools | tojson(indent=4)
tools | tojson(sort_keys=true)
tools | tojson(separators=(',', ':'))
tools | tojson(indent=1, separators=(', ', ' : '), sort_keys=true)
tools | tojson(2)
uni | tojson
uni | tojson(ensure_ascii=true)
'\x00\x1f\x7f"\\/\n\r\t\b\f\u2028' | tojson
html | tojson
none | tojson
true | tojson
[] | tojson(indent=2)
{} | tojson(indent=2)
[[], {}] | tojson(indent=2)
[1, [2, {'a': []}]] | tojson(indent=0)
[1, 2] | tojson(indent='--')
{'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true)
{1: 'a', none: 'b', true: 'c', 1.5: 'd'} | tojson
{(1, 2): 'a'} | tojson
(1, 2) | tojson
1e400 | tojson
1.0 | tojson
1e16 | tojson
range(3) | tojson
d.items() | tojson
d.items() | list | tojson
namespace(a=1) | tojson
('inf' | float) | tojson
tools[0].function.parameters.properties.n.maximum
tools[0].function.parameters.properties.n.maximum | string
tools[0].function.parameters.properties.n.maximum is integer
big
big + 1
big * 1.0
big == 9007199254740992.0
big / 3
range(3)
range(3) | list
range(1, 10, 3) | list
range(10, 0, -4) | list
range(0)
range(5, 2) | list
range(1, 5) | sum
range(3) | last
range(3) | reverse | list
range(100001) | length
range(100000) | length
range(1, 2, 0)
range('a')
range(1.5)
range(3) == range(0, 3)
range(2)[0]
dict(a=1, b=2)
dict({'a': 1}, b=2)
dict([('a', 1), ('b', 2)])
dict.fromkeys(['a', 'b'], 0)
dict()
dict(1)
dict(a=1) == {'a': 1}
namespace(a=1).a
namespace({'a': 1}, b=2).b
namespace(a=1)
namespace(a=1).b is defined
namespace(a=1)['a']
namespace(_a=1)
namespace(items=1).items
joiner(',')
cycler('a', 'b').next()
cycler()
range is callable
text is callable
raise_exception('no!')
raise_exception('Łódź ' ~ 1)
raise_exception()
raise_exception(none)
strftime_now('%Y-%m-%d')
strftime_now('%d %b %Y %H:%M:%S %j %A %B %p %y %I %a %%')
strftime_now('%-d %B')
strftime_now()
1 is odd
2 is even
-3 is odd
2.0 is even
'a' is odd
6 is divisibleby 3
6 is divisibleby(4)
6 is not divisibleby 4
6 is divisibleby 0
x is defined
text is defined
x is undefined
none is none
none_ is none
0 is none
1 is number
1.5 is number
true is number
'1' is number
1 is integer
true is integer
1.0 is integer
1.0 is float
1 is float
'a' is string
1 is string
[] is sequence
'a' is sequence
{} is sequence
1 is sequence
range(2) is sequence
[] is iterable
1 is iterable
{} is mapping
[] is mapping
namespace() is mapping
true is true
1 is true
false is false
0 is false
true is boolean
1 is boolean
'abc' is lower
'ABC' is upper
'Abc' is lower
'1' is upper
1 is sameas 1
none is sameas none
text is sameas text
[] is sameas []
1 is eq 1
1 is equalto 1
1 is ne 2
1 is lt 2
1 is le 1
1 is gt 0
1 is ge 1
1 is lessthan 2
1 is greaterthan 2
1 is in [1, 2]
'a' is in 'abc'
1 is not in [1]
'upper' is filter
'nope' is filter
'odd' is test
'nope' is test
(html | e) is escaped
html is escaped
1 is nope
1 is defined and 2 is defined
1 is defined or x.y
not x is defined
1 is odd == true
text is string and text | length > 3
text | length > 3 and text is string
'a' if x is defined else 'b'
[1, 2, 3] | select('odd') | list | length == 2
-1 | abs
-nums[0]
+1
+'a'
- -1
not 1 == 2
1 + 1 == 2
text | upper | lower | length
(text | upper)[0:2]
(text ~ 'x') | upper
text ~ 'x' | upper
1 + 2 | string
(1 + 2) | string ~ 'a'
'a' + 1 | string
[1, 2][0]
{'a': 1}.a
{'a': {'b': 2}}['a']['b']
'abc'[1]
'abc'.upper()[0]
'a-b'.split('-')[1] | upper
(nums | sort)[0]
nums | sort | first
nums|sort|reverse|list
text | default('x')
'' | default('x')
'' | default('x', true)
none | default('x')
none | default('x', boolean=true)
x | default
x | d('y')
x.y | default('z')
d.zz | default('z')
text | attr('upper')
text | attr('nope') is defined
d | attr('a') is defined
d | attr('get') is callable
text | nope
text | upper()
text | upper(1)
text | default(default_value='q')
text | default(nope=1)
text | join(d='-')
text | indent(width=2, nope=1)
nums | join(d=',', attribute=none)
[{'a': 1}, {'a': 2}] | join(',', attribute='a')
[{'a': {'b': 1}}] | map(attribute='a.b') | list
[[1, 2], [3, 4]] | map(attribute=0) | list
[[1, 2], [3, 4]] | map('first') | list
[[1, 2], [3, 4]] | map('sum') | list
[[1, 2], [3, 4]] | sum(start=[])
['a', 'b'] | sum
['a', 'b'] | sum(start='')
[[3, 1], [2]] | map('sort') | list
[(2, 'b'), (1, 'a')] | sort
[(2, 'b'), (1, 'a')] | sort(attribute=1)
[(1, 'b'), (1, 'a')] | sort(attribute='0')
[none, 1] | sort
[none, none] | sort
['b', 'A', 1] | sort
[1, 1.0, true, 'a', 'A'] | unique | list
[[1], [1]] | unique | list
[3, 1, 2] | max ~ ([] | max)
(1, 2) ~ [1]
{'a': 1}.items() | list
{'a': 1} | items | first
{'a': none}.a is none
{'a': none}['b'] is defined
{'a b': 1}['a b']
{'x': [1, 2]}.x[-1]
d['1']
d[1] is defined
{1: 'x'}[1]
{1: 'x'}[true]
{none: 'x'}[none]
{(1, 2): 'x'}[1, 2]
{(1, 2): 'x'}[(1, 2)]
loop is defined
caller is defined
true_ and false_
True
False
None
TRUE
none ~ None ~ true ~ True
text[undefined_name:]
text.upper(1)
text.split(1)
text.startswith(1)
text.replace('a')
foo.bar.baz
"a" "b" ~ 'c' 'd'
'abc' [1]
text [0:2]
(text)
((text))
text.upper ()
1if true else 2
[1,2,3][1:][0]
nums[nums[1]]
{'a':1}['a']if true else 0
[x for x in nums]
lambda
a b
1 +
* 2
(1
[1
{1
1)
'unterminated
1 2
a.1b
a..b
@
!x
x = 1
012
00
1__0
1.e5
.5
5.
1e
{% if %}
""".strip("\n").split("\n")

# Whole templates.
TEMPLATES = [
    "{{ 'line\\\ncontinued' }}",
    "",
    "plain",
    "plain\n",
    "plain\n\n",
    "a\r\nb\rc\n",
    "\n",
    "{{ text }}\n",
    "{{ text }}\n\n",
    "  {{ text }}  \n  x",
    "{{- text -}}",
    "a  {{- text -}}  b",
    "a \n {{- text -}} \n b",
    "a {{+ text }} b",
    "a\n{{+1}}|{{-1}}|{{ -1 }}",
    "{% if true %}\nx\n{% endif %}\ny",
    "  {% if true %}  \n  x\n  {% endif %}  \n  y",
    "  {%+ if true %}\n  x\n  {%+ endif %}\n  y",
    "  {% if true +%}\n  x\n  {% endif +%}\n  y",
    "a\n\n  {%- if true -%}\n\n  x\n\n  {%- endif -%}\n\n  y",
    "a  {% if true %}b{% endif %}  c",
    "a\n  {# comment #}  \n  b",
    "a\n  {# comment #}\n  b",
    "a\n  {#- comment -#}\n  b",
    "a\n  {#+ comment +#}\n  b",
    "a{# multi\nline\n#}\nb",
    "{# {{ not }} {% parsed %} #}x",
    "{#-#}x",
    "{##}x",
    "{# unterminated",
    "x{#",
    "x{{",
    "x{%",
    "x{{ text",
    "x{% if true %}y",
    "x{% endif %}",
    "x{% for %}",
    "{ { text } }",
    "{text}",
    "{{ '{{' }} {{ '}}' }} {{ '{%' }} {{ \"%}\" }}",
    "{{ {'a': {'b': 1}}['a'] }}",
    "{{ {'a': {'b': 1}}}}",
    "{{ [{'a': 1}] }}",
    "{% raw %}{{ x }} {% if %}{% endraw %}",
    "a\n  {% raw %}\n  {{ x }}\n  {% endraw %}\n  b",
    "a\n  {%- raw -%}\n  {{ x }}\n  {%- endraw -%}\n  b",
    "a\n  {%+ raw %}\n  x\n  {%+ endraw +%}\n  b",
    "{% raw %}unterminated",
    "{% raw %}a{% raw %}b{% endraw %}c",
    "\t{% set x = 1 %}\t\n{{ x }}",
    "x \u00a0{%- if true %} y{% endif %}",
    "\u3000{% if true %}y{% endif %}",
    "a\x0b{% if true %}y{% endif %}",
    "{{ text }}\n{% if true %}\n{% endif %}\n{{ text }}",
    "line {%- set x = 1 %}\n next",
    "{% set x = 1 -%}\n\n next",
    "{{ 'a' -}}\n b",
    "{{ 'a' }}\n b",
    "{% if false %}a{% elif none %}b{% elif 1 %}c{% else %}d{% endif %}",
    "{% if 0 %}a{% else %}d{% endif %}",
    "{% if [] or {} or '' or 0.0 %}a{% else %}b{% endif %}",
    "{% if x %}a{% endif %}",
    "{% if x is defined and x.y %}a{% else %}b{% endif %}",
    "{% if x.y.z %}a{% endif %}",
    "{% if true: %}a{% endif %}",
    "{% if (true) %}a{%endif%}",
    "{% if 1, 0 %}a{% endif %}",
    "{% if true %}{% if false %}a{% else %}b{% endif %}{% endif %}",
    "{% if text | nope %}a{% endif %}",
    "{% if false %}{{ text | nope }}{% endif %}",
    "{% if true %}{{ text | nope }}{% endif %}",
    "{% if false %}{% for a in [1] %}{{ a | nope }}{% endfor %}{% endif %}",
    "{{ 1 if true else (text | nope) }}",
    "{{ (text | nope) if true else 1 }}",
    "{% if false %}{{ 1 is nope }}{% endif %}x",
    # set and scope
    "{% set x = 1 %}{{ x }}",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}",
    "{% set (x, y) = [1, 2] %}{{ x }}{{ y }}",
    "{% set x, (y, z) = 1, 'ab' %}{{ x }}{{ y }}{{ z }}",
    "{% set x, y = 1 %}",
    "{% set x, y = 1, 2, 3 %}",
    "{% set x, y = [1] %}",
    "{% set x = 1, %}{{ x }}",
    "{% set x = 1, 2 %}{{ x }}",
    "{% set x = x + 1 %}",
    "{% set one = one + 1 %}{{ one }}",
    "{% set text %}block {{ text }}{% endset %}{{ text }}",
    "{% set q %}block {{ text }}{% endset %}{{ q }}",
    "{% set q | upper %}block {{ text }}{% endset %}{{ q }}",
    "{% set q | replace('b', 'B') | trim %} block {% endset %}[{{ q }}]",
    "{% set q %}\n  a\n  {% if true %}\n  b\n  {% endif %}\n{% endset %}[{{ q }}]",
    "{% set a, b %}x{% endset %}",
    "{% set x %}{% set inner = 1 %}{{ inner }}{% endset %}{{ x }}{{ inner is defined }}",
    "{% set true = 1 %}",
    "{% set 1 = 1 %}",
    "{% set x.y = 1 %}",
    "{% set d.x = 1 %}",
    "{% set x['a'] = 1 %}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% if false %}{% set x = 2 %}{% endif %}{{ x is defined }}",
    "{% if false %}{% set text = 2 %}{% endif %}{{ text }}",
    "{% if false %}{% set text = 2 %}{% else %}{% set other = 3 %}{% endif %}{{ text }}{{ other }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% for i in [1, 2] %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x is defined }}",
    "{% for i in [1, 2] %}{{ text }}{% set text = i %}{{ text }}{% endfor %}{{ text }}",
    "{% for i in [1] %}{{ text }}{% endfor %}{% set text = 'later' %}{{ text }}",
    "{% for m in messages %}{{ m.role }}{% endfor %}{% set messages = [] %}{{ messages }}",
    "{% for i in [1] %}{% for j in [1] %}{{ tools | length }}{% endfor %}{% endfor %}{% set tools = 1 %}",
    "{% macro f() %}{{ text }}{% endmacro %}{% set text = 'later' %}{{ f() }}",
    "{% macro f() %}{{ v }}{% endmacro %}{% set v = 'later' %}{{ f() }}{% set v = 'again' %}{{ f() }}",
    "{% set x = 1 %}{% macro f() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ f() }}{{ x }}",
    "{% set x = 1 %}{% with x = 2 %}{{ x }}{% set x = 3 %}{{ x }}{% endwith %}{{ x }}",
    "{% with %}{% set y = 1 %}{{ y }}{% endwith %}{{ y is defined }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}",
    "{% set a = 9 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% with a = 1 %}{% with a = a + 1 %}{{ a }}{% endwith %}{{ a }}{% endwith %}",
    "{% with text = text ~ '!' %}{{ text }}{% endwith %}{{ text }}",
    "{% set ns = namespace(n=0) %}{% for i in nums %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
    "{% set ns = namespace() %}{% set ns.x = 1 %}{% set ns.y = ns.x + 1 %}{{ ns.y }}{{ ns }}",
    "{% set ns = namespace(a=1) %}{% set ns.a, ns.b = 2, 3 %}{{ ns.a }}{{ ns.b }}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% set ns = namespace() %}{% set ns.x %}block{% endset %}{{ ns.x }}",
    "{% set ns = namespace(l=[]) %}{% for i in [1, 2] %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l }}",
    "{% set ns = namespace(found=false) %}{% for m in messages %}{% if m.role == 'tool' and not ns.found %}{% set ns.found = true %}{{ loop.index }}{% endif %}{% endfor %}",
    "{% set a = b = 1 %}",
    "{% set x = 5 %}{% set y = x %}{% set x = 6 %}{{ y }}",
    "{% set _ = d.get('a') %}{{ _ }}",
    "{% set x = [1] %}{% set _ = x.append(2) %}{{ x }}",
    "{% do x.append(1) %}",
    "{% set range = 3 %}{{ range }}",
    "{% set loop = 3 %}{{ loop }}",
    "{% for i in [1] %}{% set loop = 3 %}{% endfor %}",
    "{% for loop in [1] %}{% endfor %}",
    # for
    "{% for i in [1, 2, 3] %}{{ i }}{% endfor %}",
    "{% for i in [1, 2, 3] %}{{ i }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for i in [] %}x{% else %}empty{% endfor %}",
    "{% for i in x %}x{% else %}empty{% endfor %}",
    "{% for i in none %}x{% endfor %}",
    "{% for i in 5 %}x{% endfor %}",
    "{% for c in 'aé漢' %}{{ c }}|{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for v in d.values() %}{{ v }};{% endfor %}",
    "{% for a, b in [(1, 2), [3, 4], 'ab'] %}{{ a }}-{{ b }};{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [1] %}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for i in 1, 2, 3 %}{{ i }}{% endfor %}",
    "{% for i in nums if i > 0 %}{{ i }},{% endfor %}",
    "{% for i in nums if i > 100 %}{{ i }}{% else %}none{% endfor %}",
    "{% for i in nums if i > 0 %}{{ loop.index }}/{{ loop.length }}:{{ i }}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% for i in nums if i is odd %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }};{% endfor %}",
    "{% set m = 2 %}{% for i in nums if i > m %}{{ i }},{% endfor %}",
    "{% for i in nums if loop.index > 1 %}{{ i }}{% endfor %}",
    "{% for o in [1, 2] %}{% for i in nums if loop.index > 1 %}{{ i }}{% endfor %}|{% endfor %}",
    "{% for i in nums if i > 0 if i < 3 %}{% endfor %}",
    "{% for i in (nums if true else []) %}{{ i }}{% endfor %}",
    "{% for i in nums|sort if i %}{{ i }}{% endfor %}",
    "{% for i in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for i in 'abcd' %}{{ loop.cycle('x', 'y', 'z') }}{% endfor %}",
    "{% for i in 'ab' %}{{ loop.cycle() }}{% endfor %}",
    "{% for i in [1, 1, 2, 2, 1] %}{{ loop.changed(i) }}{% endfor %}",
    "{% for i in [1, 1, 2] %}{{ loop.changed() }}{{ loop.changed(i, 'x') }}{% endfor %}",
    "{% for i in 'abc' %}{{ loop.previtem }}{{ i }}{{ loop.nextitem }}|{% endfor %}",
    "{% for i in 'abc' %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}|{% endfor %}",
    "{% for i in [1, 2] %}{{ loop.previtem.x }}{% endfor %}",
    "{% for i in nums|select('odd') %}{{ loop.length }}{{ loop.index }}{% endfor %}",
    "{% for i in nums|map('abs') %}{{ loop.last }}{{ loop.revindex }} {% endfor %}",
    "{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in [1, 2] %}{% continue %}{% else %}else{% endfor %}",
    "{% for i in [1, 2] %}{% break %}{% else %}else{% endfor %}",
    "{% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}{% else %}else{% endfor %}",
    "{% for i in [1, 2] %}{% for j in [1, 2] %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% endfor %}",
    "{% break %}",
    "{% for i in [1] %}{% endfor %}{% continue %}",
    "{% for i in [1, 2] %}{% else %}{% break %}{% endfor %}",
    "{% for o in [1, 2] %}{{ o }}{% for i in [] %}{% else %}{% break %}{% endfor %}x{% endfor %}",
    "{% for i in [1, 2] %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for i in [1, 2] %}{% set x %}{{ i }}{% break %}{% endset %}{% endfor %}y",
    "{% for i in [1, 2] %}a{% filter upper %}b{{ i }}{% continue %}{% endfilter %}c{% endfor %}",
    "{% for i in [1, 2] %}{% with j = i %}{% if j == 1 %}{% continue %}{% endif %}{{ j }}{% endwith %}{% endfor %}",
    "{% for i in [1] %}{{ i }}{% endfor %}{{ i is defined }}",
    "{% set i = 9 %}{% for i in [1] %}{{ i }}{% endfor %}{{ i }}",
    "{% for i in [1, 2] %}{% for i in [3] %}{{ i }}{% endfor %}{{ i }}{% endfor %}",
    "{% for i in [1, 2] %}{{ loop.index }}{% for j in [1] %}{{ loop.index }}{{ i }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% for i in [1, 2] %}{% set outer = loop %}{% for j in 'ab' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for i in [1] %}{{ loop }}{% endfor %}",
    "{% for i in [1] %}{{ loop.nope is defined }}{{ loop['index'] }}{% endfor %}",
    "{% for i in [1] %}{% if loop %}x{% endif %}{% endfor %}",
    "{% for i in [1] %}{{ loop([2]) }}{% endfor %}",
    "{% for n in tree recursive %}{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% endfor %}",
    "{% for n in tree recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ loop.index }}:{{ n.v }}{{ loop(n.c) }}{% else %}-{% endfor %}",
    "{% for n in tree recursive -%}\n {{ n.v }}\n {%- if n.c %}[{{ loop(n.c) | upper }}]{% endif %}\n{%- endfor %}",
    "{% for n in tree if n.v > 1 recursive %}{{ n.v }}{{ loop(n.c) }}{% endfor %}",
    "{% set x = 0 %}{% for n in tree recursive %}{% set x = x + n.v %}{{ x }}{{ loop(n.c) }}{% endfor %}{{ x }}",
    "{% for n in tree recursive %}{% if n.v == 4 %}{% break %}{% endif %}{{ n.v }}{{ loop(n.c) }}{% endfor %}",
    "{% for n in tree recursive %}{% set o = loop %}{% for q in n.c %}{{ o([q]) }}{% endfor %}{{ n.v }}{% endfor %}",
    "{% for m in messages %}{% if loop.first %}F{% endif %}{% if loop.last %}L{% endif %}{{ m['role'] }}{% endfor %}",
    "{% for m in messages[1:] %}{{ loop.index0 }}{{ m.role }}{% endfor %}",
    "{% for m in messages | reverse %}{{ m.role }}{{ loop.length }}{% endfor %}",
    "{% for m in messages[::-1] %}{{ m.role }}{% endfor %}",
    "{% for x in range(3) %}{{ x }}{% endfor %}",
    "{% for x in range(3, 0, -1) %}{{ x }}{% endfor %}",
    "{% for g, l in users | groupby('age') %}{% endfor %}",
    "{% for g, l in users[:3] | groupby('age') %}{{ g }}:{{ l | map(attribute='name') | join('+') }};{% endfor %}",
    "{% for row in nums | batch(4, 'x') %}{{ row | join(',') }};{% endfor %}",
    "{% for i in nums -%}\n  {{ i }}\n{% endfor %}",
    "{% for i in [1,2] %}\n  {{ i }}\n{% endfor %}\nx",
    "{%- for i in [1,2] -%}\n  {{ i }}\n{%- endfor -%}\nx",
    "{% for i in [1,2] %}{% if i %}\n  a\n{% endif %}{% endfor %}",
    "{% for i in [1] recursive if i %}{% endfor %}",
    "{% for i, in [(1,), (2,)] %}{{ i }}{% endfor %}",
    "{% for d.x in [1] %}{% endfor %}",
    "{% for true in [1] %}{% endfor %}",
    "{% for i in [1] %}{{ i }}",
    "{% for i in [1] %}{{ i }}{% endif %}",
    "{% for i [1] %}{% endfor %}",
    # one-time iterators
    "{% set g = nums | map('abs') %}{{ g | list }}{{ g | list }}",
    "{% set g = nums | select('odd') %}{{ g | first }}{{ g | list }}",
    "{% set g = [] | map('abs') %}{% if g %}true{% endif %}",
    "{% set g = nums | map('nope') %}fine",
    "{% set g = nums | map('nope') %}{{ g | list }}",
    "{% set g = [1, 'a'] | map('abs') %}{{ g | first }}",
    "{% set g = nums | select('odd') %}{{ g | length }}",
    "{% set g = nums | select('odd') %}{{ g[0] is defined }}",
    "{% set g = nums | select('odd') %}{{ 3 in g }}{{ g | list }}",
    "{% set g = d.items() %}{{ g | list | length }}{{ g | list | length }}",
    "{% set g = words | reverse %}{{ g | list }}{{ g | list }}",
    "{% set g = nums | unique %}{% for i in g %}{{ i }}{% if i == 2 %}{% break %}{% endif %}{% endfor %}{{ g | list }}",
    "{% set g = nums | select('odd') %}{{ g is iterable }}{{ g is sequence }}{{ g is string }}",
    "{% set a, b = nums[:2] | map('abs') %}{{ a }}{{ b }}",
    "{{ (nums | select('odd') | last) }}",
    "{{ (nums | select('odd') | list | last) }}",
    "{{ nums | select('odd') | sort }}",
    "{{ nums | select('odd') | join(',') }}",
    "{{ nums | select('odd') | tojson }}",
    # macros
    "{% macro f(a) %}[{{ a }}]{% endmacro %}{{ f(1) }}{{ f('x') }}",
    "{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(b=4, a=5) }}",
    "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}",
    "{% macro f(a=b, b=1) %}{{ a }}{{ b }}{% endmacro %}{{ f() }}",
    "{% macro f(a=text) %}{{ a }}{% endmacro %}{{ f() }}",
    "{% macro f(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ f() }}",
    "{% macro f(a) %}{{ a.x }}{% endmacro %}{{ f() }}",
    "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(b=1) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(1, a=1) }}",
    "{% macro f(a, a) %}{% endmacro %}",
    "{% macro f(a=1, b) %}{% endmacro %}",
    "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }}",
    "{% macro f(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }}{{ f(1, 2, q='z') }}",
    "{% macro f(a) %}{{ kwargs.a is defined }}{% endmacro %}{{ f(a=1) }}",
    "{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}body{% endcall %}",
    "{% macro f() %}{{ caller('x', 2) }}{% endmacro %}{% call(a, b) f() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro f() %}{{ caller(1) }}{% endmacro %}{% call(a, b=5) f() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}{% call f() %}{% endcall %}",
    "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}",
    "{% macro f() %}x{% endmacro %}{% call f() %}{% endcall %}",
    "{% macro f(caller=none) %}{{ caller() if caller else 'n' }}{% endmacro %}{{ f() }}{% call f() %}c{% endcall %}",
    "{% macro f(caller) %}{{ caller() }}{% endmacro %}{% call f() %}{% endcall %}",
    "{% macro f(x) %}<{{ caller(x) }}>{% endmacro %}{% set y = 1 %}{% call(z) f(2) %}{{ y }}{{ z }}{% set y = 3 %}{{ y }}{% endcall %}{{ y }}",
    "{% macro f() %}{{ caller() }}{{ caller() }}{% endmacro %}{% call f() %}{% call f() %}a{% endcall %}b{% endcall %}",
    "{% call text %}{% endcall %}",
    "{% call text.upper() %}{% endcall %}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro f(n) %}{% for i in n %}{% if i is iterable and i is not string %}({{ f(i) }}){% else %}{{ i }}{% endif %}{% endfor %}{% endmacro %}{{ f([1, [2, [3]], 'x']) }}",
    "{{ f(1) }}{% macro f(a) %}{{ a }}{% endmacro %}",
    "{% macro f() %}a\n{% endmacro %}[{{ f() }}]",
    "{% macro f() -%}\n  a\n{%- endmacro %}[{{ f() }}]",
    "{% macro f() %}{{ f.name }}{{ f.arguments }}{{ f.caller }}{{ f.catch_kwargs }}{{ f.catch_varargs }}{% endmacro %}{{ f() }}",
    "{% macro f(a, b=1) %}{{ varargs }}{% endmacro %}{{ f }}{{ f.arguments }}{{ f.catch_varargs }}",
    "{% macro f() %}{% macro g() %}g{% endmacro %}{{ g() }}{% endmacro %}{{ f() }}{{ g is defined }}",
    "{% macro f(x) %}{% macro g() %}{{ x }}{% endmacro %}{{ g() }}{% endmacro %}{{ f(1) }}{{ f(2) }}",
    "{% for i in [1, 2] %}{% macro g() %}{{ i }}{% endmacro %}{{ g() }}{% endfor %}{{ g is defined }}",
    "{% for i in [1, 2] %}{% macro g() %}{{ loop.index }}{% endmacro %}{{ g() }}{% endfor %}",
    "{% macro f(m) %}{{ m.role | upper }}{% endmacro %}{% for m in messages %}{{ f(m) }}{% endfor %}",
    "{% macro f() %}{% set ns.n = ns.n + 1 %}{% endmacro %}{% set ns = namespace(n=0) %}{{ f() }}{{ f() }}{{ ns.n }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ [f(1), f(2)] }}{{ f(1) ~ f(2) }}{{ f(1) | length }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(*[1]) }}{{ f(**{'a': 2}) }}",
    "{% macro f(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ f(*[1, 2]) }}{{ f(1, **{'b': 2}) }}{{ f(*[1], b=3) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(**{1: 2}) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(*1) }}",
    "{% macro f(a) %}{% endmacro %}{{ f(a=1, a=2) }}",
    "{% macro f(a) %}{{ a }}{% endmacro %}{% set g = f %}{{ g(3) }}",
    "{% macro f(x) %}{% if x %}{{ raise_exception('bad ' ~ x) }}{% endif %}ok{% endmacro %}{{ f(0) }}{{ f(7) }}",
    "{% macro f() %}{{ text }}{% endmacro %}{% with text = 'w' %}{{ f() }}{% endwith %}",
    "{% macro f(loop) %}{{ loop }}{% endmacro %}{% for i in [1] %}{{ f(i) }}{% endfor %}",
    "{% macro 1() %}{% endmacro %}",
    "{% macro f %}{% endmacro %}",
    "{% macro f() %}",
    # filter blocks, generation, others
    "{% filter upper %}a {{ text }}{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}banana{% endfilter %}",
    "{% filter indent(2) %}a\nb\n{% endfilter %}|",
    "{% filter trim %}\n  a\n{% endfilter %}|",
    "{% filter nope %}a{% endfilter %}",
    "{% filter length %}abc{% endfilter %}",
    "{% set x = 1 %}{% filter upper %}{% set x = 'in' %}{{ x }}{% endfilter %}{{ x }}",
    "{% filter upper %}{% filter lower %}ABC{% endfilter %}def{% endfilter %}",
    "{% filter tojson %}a\"b{% endfilter %}",
    "{% generation %}body {{ text }}{% endgeneration %}",
    "a\n{% generation %}\nbody\n{% endgeneration %}\nb",
    "{% set x = 1 %}{% generation %}{{ x }}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
    "{% for m in messages %}{%- generation -%} {{ m.role }} {%- endgeneration -%}{% endfor %}",
    "{% for i in [1, 2] %}{% generation %}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "{% for i in [1, 2] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "{% generation %}{% generation %}x{% endgeneration %}{% endgeneration %}",
    "{% generation %}x",
    "{% print text %}",
    "{% print text, 1, none %}",
    "{% autoescape false %}{{ html }}{% endautoescape %}",
    "{% include 'x' %}",
    "{% if false %}{% include 'x' %}{% endif %}a",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{% extends 'x' %}",
    "{% nope %}",
    "{% end %}",
    "{% %}",
    "{%%}",
    "{{}}",
    "{{ }}",
    "{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}",
    "{% set j = joiner() %}{% for i in [1, 2, 3] %}{{ j() }}{{ i }}{% endfor %}",
    "{% set j = joiner('|') %}{{ j() }}{{ j() }}",
    "{{ raise_exception('Conversation roles must alternate') }}",
    "{% if messages[0].role != 'user' %}{{ raise_exception('first must be user: ' + messages[0].role) }}{% endif %}",
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% elif m.content is iterable %}{% for p in m.content %}{{ p.text if p.type == 'text' else p.type }}{% endfor %}{% else %}{{ m.content }}{% endif %}|{% endfor %}",
    "{{ messages[2] }}",
    "{{ messages[0].items() | list }}",
    "{{ tools }}",
    "{%- for m in messages %}\n    {%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}\n        {{- 'x' }}\n    {%- endif %}\n    {{- m['role'] + '\\n' }}\n{%- endfor %}",
    "{{- bos_token }}\n{%- if tools is defined and tools %}\n    {{- '[TOOLS]' }}\n    {%- for t in tools %}{{ t | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}\n{%- endif %}\n",
    "{% set loop_messages = messages[1:] if messages[0]['role'] == 'system' else messages %}{% for message in loop_messages %}{% set content = '<|start|>' + message['role'] + '\n' + (message['content'] | string) | trim %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}",
    "{%- set ns = namespace(is_first=false, is_tool=false, system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system_prompt}}",
    "{% for tool in tools %}{% set f = tool.function %}{{ f.name }}({% for n, p in f.parameters.properties.items() %}{{ n }}: {{ p.type }}{{ '' if loop.last else ', ' }}{% endfor %}){% endfor %}",
    "{% set x = {'a': 1} %}{% set x = dict(x, b=2) %}{{ x }}{{ x.a + x.b }}",
    "{% set x = messages | map(attribute='role') | list %}{{ x }}{{ 'tool' in x }}",
    "{% set x = (messages | selectattr('role', 'equalto', 'system') | list) %}{{ x[0].content if x else 'none' }}",
    "{{ 'yes' if add_generation_prompt else 'no' }}{% if add_generation_prompt %}\n<|assistant|>\n{% endif %}",
    "{% if messages[-1]['role'] == 'assistant' and add_generation_prompt %}x{% endif %}",
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ add_generation_prompt }}",
    "{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}{{ date_string }}",
    "{% if strftime_now is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% else %}{% set date_string = '1' %}{% endif %}{{ date_string }}",
    "{% set content = messages[1].content %}{% if '?' in content %}{{ content.split('?')[0] }}{% endif %}",
    "{{ 'a' }}{{ 'b' -}} c {{- 'd' }}",
    "{{ 1 }}{{ 2 }}\n{{ 3 }}\n",
    "é{{ 'é' }}漢{# 漢 #}字",
    "{% set é = 1 %}{{ é }}",
    "{% set 漢字 = 'x' %}{{ 漢字 }}",
    "{{ text\n}}{{\ntext }}{%\nif true\n%}x{%\nendif\n%}",
    "{{ text|upper|replace(\n  'L',\n  'x'\n) }}",
    "{{ x|default(\n'y'\n) }}",
    "{% set a = [\n 1,\n 2\n] %}{{ a }}",
    "{% set a = {\n 'k': 'v',\n} %}{{ a }}",
    "{{ (text\n~ 'x') }}",
    "{% if true %}a{%endif%}{%if true%}b{%endif%}",
    "{%if true%}a{%elif false%}b{%else%}c{%endif%}",
    "{% set x=1 %}{{x}}{{x+1}}{{x-1}}{{-x}}",
    "{% set x = 1 %}{{x -1}}{{x-1}}{{ x -}}",
]


def templates():
    return ["{{ " + expression + " }}" for expression in EXPRESSIONS] + TEMPLATES

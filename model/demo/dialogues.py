"""Dialogues made by chance from small facts, phrases and tales.

Each function in KINDS takes a random generator and returns a dialogue: a dict
with "messages" (as in chat completion requests), perhaps "tools", and a "key"
that names what it is about, so that some combinations can be held out.
"""

import facts as F
import tools
from tales import (ADJ, HE, HEROES, HELPERS, SHE, invented, make_tale,
                   start_upper, with_article)


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def system(text):
    return {"role": "system", "content": text}


def dialogue(key, *messages, **more):
    return dict(key=key, messages=list(messages), **more)


def loosen(rng, text):
    """A question as people type it: now and then without case or stop."""
    roll = rng.random()
    if roll < 0.12:
        text = text[0].lower() + text[1:]
    if roll > 0.92 or roll < 0.06:
        text = text.rstrip(".?!")
    return text


def any_name(rng):
    """A known first name, or now and then a made-up one."""
    if rng.random() < 0.35:
        return start_upper(invented(rng))
    return rng.choice(HE + SHE)


def phrases(ask, say, kind):
    """A kind that pairs any of some questions with any of some answers."""
    def make(rng):
        text = rng.choice(ask)
        return dialogue(f"{kind}/{text}", user(loosen(rng, text)),
                        assistant(rng.choice(say)))
    return make


def made_by(rng):
    ask = rng.choice(F.MADE_ASK)
    return dialogue(f"made/{ask}", user(loosen(rng, ask)),
                    assistant(F.MADE_SAY[ask]))


def request_tale(rng, tale, hero):
    """A request that the tale answers; names its hero if hero is given."""
    words = tale["words"]
    kind = rng.choice(["tale", "story", "tale", "short tale", "little story",
                       "fairy tale", "short story"])
    about = ""
    if hero:
        about = with_article(hero)
        roll = rng.random()
        if roll < 0.15:
            about += " and " + with_article(words["helper"])
        elif roll < 0.45:
            about += " " + tale["ask"]
        elif roll < 0.51:
            about = with_article(words["adj"] + " " + hero)
        elif roll < 0.58:
            about += " named " + words["N"]
    elif rng.random() < 0.25:
        about = tale["theme"]
    thing = with_article(kind) + (" about " + about if about else "")
    return rng.choice([
        "Tell me {}.", "Tell me {}.", "Please tell me {}.", "Can you tell me {}?",
        "Write {}.", "I would like to hear {}.", "Could you write me {}?",
        "Tell {}, please.", "Write me {}."]).format(thing)


def ask_tale(rng):
    """The main kind: a request and the tale, perhaps more turns after it."""
    tale = make_tale(rng)
    hero = tale["words"]["hero"] if rng.random() < 0.88 else None
    messages = [user(loosen(rng, request_tale(rng, tale, hero)))]
    if rng.random() < 0.2:
        messages = [user(rng.choice(F.GREETINGS)),
                    assistant(rng.choice(F.GREET_BACK))] + messages
    messages.append(assistant(tale["text"]))
    keys = [tale["key"]]
    while rng.random() < 0.45 and len(messages) < 9:
        messages += tale_turn(rng, tale)
        keys.append(messages.pop())
    return dialogue("|".join(keys), *messages)


def tale_turn(rng, tale):
    """One more exchange after a tale, and the key of what it tells."""
    w = tale["words"]
    other = make_tale(rng)
    options = [
        (f"What was the name of {w['h']}?", f"The name was {w['N']}."),
        (f"What was {w['h']} called?", f"{w['H']} was called {w['N']}."),
        (f"Who helped {w['N']}?", f"{w['F']} helped {w['N']}."),
        (f"Who helped {w['h']}?", f"{w['F']} helped {w['N']}."),
        (f"Who was {w['N']}?", f"{w['N']} was {w['a_adj']} {w['hero']}."),
        (f"Where did {w['N']} live?", f"{w['N']} lived {w['place']}."),
        (rng.choice(F.THANKS_ASK), rng.choice(F.THANKS_SAY)),
        (rng.choice(F.BYE_ASK), rng.choice(F.BYE_SAY)),
        (rng.choice(["Another one, please.", "Tell me another one.",
                     "Another tale, please."]), other["text"])]
    ask, say = rng.choice(options)
    key = other["key"] if say == other["text"] else "turn"
    return [user(loosen(rng, ask)), assistant(say), key]


def first_line(rng):
    """A tale whose name is chosen by the user."""
    name = any_name(rng)
    tale = make_tale(rng, name=name)
    hero = tale["words"]["hero"]
    ask = rng.choice(["Tell me a tale about a {h} named {n}.",
                      "Tell a story about {n} the {h}.",
                      "Write a tale about {n}, who is a {h}."])
    return dialogue(tale["key"], user(ask.format(h=hero, n=name)),
                    assistant(tale["text"]))


def fact(kind, pairs, asks, says):
    """A kind that asks for one entry of a table of facts."""
    def make(rng):
        a = rng.choice(sorted(pairs))
        b, an = pairs[a], with_article(a)
        words = dict(a=a, b=b, A=start_upper(a), B=start_upper(b), an=an,
                     An=start_upper(an), bn=with_article(b))
        return dialogue(f"{kind}/{a}",
                        user(loosen(rng, rng.choice(asks).format_map(words))),
                        assistant(rng.choice(says).format_map(words)))
    return make


opposite = fact("opposite", F.OPPOSITES, [
    "What is the opposite of {a}?", "Opposite of {a}?", "Tell me the opposite of {a}.",
    "What's the opposite of {a}?"], ["The opposite of {a} is {b}."])
colour = fact("colour", F.COLOURS, [
    "What colour is {an}?", "What colour is the {a}?", "What color is the {a}?",
    "Which colour has {an}?"], ["The {a} is {b}."])
sound = fact("sound", F.SOUNDS, [
    "What does {an} say?", "What does the {a} say?", "What sound does {an} make?",
    "Which sound does the {a} make?"], ["The {a} says: {b}!"])
capital = fact("capital", F.CAPITALS, [
    "What is the capital of {a}?", "What's the capital of {a}?",
    "Which city is the capital of {a}?", "Capital of {a}?"],
    ["The capital of {a} is {b}."])
country = fact("country", {b: a for a, b in F.CAPITALS.items()}, [
    "Where is {a}?", "In which country is {a}?"], ["{a} is the capital of {b}."])
baby = fact("baby", F.BABIES, [
    "What is a baby {a} called?", "What do you call a young {a}?"],
    ["A baby {a} is called {bn}."])
legs = fact("legs", F.LEGS, ["How many legs does {an} have?",
                             "How many legs has {an}?"], ["{An} has {b} legs."])
eats = fact("eats", F.EATS, ["What does {an} eat?", "What does the {a} like to eat?"],
            ["{An} likes to eat {b}."])
home = fact("home", F.HOMES, ["Where does {an} live?", "Where does the {a} live?"],
            ["{An} lives in {b}."])
plural = fact("plural", F.PLURALS, ["What is the plural of {a}?", "Plural of {a}?"],
              ["The plural of {a} is {b}."])


def small_sum(rng):
    """Addition up to 20 and subtraction without negative results."""
    a, b = rng.randint(0, 12), rng.randint(0, 12)
    if rng.random() < 0.35:
        a, b = max(a, b), min(a, b)
        sign, word, c = "-", "minus", a - b
    else:
        sign, word, c = "+", "plus", a + b
    asks = [f"What is {a} {sign} {b}?", f"{a} {sign} {b}", f"{a} {sign} {b} = ?",
            f"How much is {a} {sign} {b}?", f"What is {a} {word} {b}?",
            f"What's {a} {sign} {b}?", f"Calculate {a} {sign} {b}."]
    ask = rng.choice(asks)
    return dialogue(f"sum/{a}{sign}{b}", user(ask),
                    assistant(f"{a} {sign} {b} = {c}"))


def count(rng):
    """Counting up or down in figures."""
    a, span = rng.randint(1, 10), rng.randint(2, 9)
    if rng.random() < 0.3:
        numbers, ask = range(a + span, a - 1, -1), f"Count down from {a + span} to {a}."
    else:
        numbers, ask = range(a, a + span + 1), f"Count from {a} to {a + span}."
        if a == 1:
            ask = rng.choice([ask, f"Count to {a + span}."])
    return dialogue(f"count/{ask}", user(loosen(rng, ask)),
                    assistant(", ".join(map(str, numbers)) + "."))


def calendar(rng):
    """What comes after or before a day, month or number."""
    if rng.random() < 0.25:
        names, asks = rng.choice([
            (F.DAYS, ["Name the days of the week.", "What are the days of the week?"]),
            (F.MONTHS, ["Name the months.", "What are the months of the year?"])])
        text = ", ".join(names[:-1]) + " and " + names[-1] + "."
        return dialogue("calendar/list", user(rng.choice(asks)), assistant(text))
    names = rng.choice([F.DAYS, F.DAYS, F.MONTHS, [str(n) for n in range(1, 31)]])
    i = rng.randrange(1, len(names) - 1)
    word, j = rng.choice([("after", i + 1), ("before", i - 1)])
    ask = rng.choice([f"What comes {word} {names[i]}?", f"Which comes {word} {names[i]}?"])
    return dialogue(f"calendar/{word}{names[i]}", user(loosen(rng, ask)),
                    assistant(f"{names[j]} comes {word} {names[i]}."))


def days_off(rng):
    """If today is ..., what day is tomorrow?"""
    i = rng.randrange(7)
    word, j = rng.choice([("tomorrow", i + 1), ("yesterday", i - 1)])
    verb = "is" if word == "tomorrow" else "was"
    return dialogue(
        f"today/{word}{i}",
        user(f"If today is {F.DAYS[i]}, what day {verb} {word}?"),
        assistant(f"{start_upper(word)} {verb} {F.DAYS[j % 7]}."))


def list_some(rng):
    """Name n animals, colours, fruits."""
    pools = dict(animals=[a for a in F.ANIMALS],
                 colours="red blue green yellow black white brown pink".split(),
                 fruits="apples pears plums cherries lemons grapes peaches".split(),
                 cities=F.CITIES, names=HE + SHE)
    what = rng.choice(sorted(pools))
    n = rng.randint(2, 5)
    chosen = rng.sample(pools[what], n)
    if what == "animals":
        chosen = ["the " + c for c in chosen]
    number = rng.choice([F.NUMBERS[n], str(n)])
    ask = rng.choice([f"Name {number} {what}.", f"Tell me {number} {what}.",
                      f"Give me {number} {what}."])
    text = ", ".join(chosen[:-1]) + " and " + chosen[-1] + "."
    return dialogue(f"list/{what}{n}", user(loosen(rng, ask)),
                    assistant(start_upper(text)))


def say_word(rng):
    """Repeat a word or a sentence: plain copying."""
    words = [rng.choice([invented(rng), rng.choice(HEROES), rng.choice(ADJ)])
             for _ in range(rng.randint(1, 4))]
    text = " ".join(words)
    ask = rng.choice(["Say {}.", "Repeat after me: {}", "Please say {}.", "Repeat: {}"])
    return dialogue(f"say/{text}", user(ask.format(text)),
                    assistant(start_upper(text) + "."))


def remember(rng):
    """The user tells something and asks for it later."""
    name, age = any_name(rng), rng.randint(4, 90)
    love = rng.choice(F.ANIMALS)
    town = rng.choice(F.CITIES)
    told = [(f"My name is {name}.", f"Nice to meet you, {name}!",
             ["What is my name?", "Do you know my name?", "Who am I?"],
             f"Your name is {name}."),
            (f"I am {age} years old.", f"You are {age}! That is a good age.",
             ["How old am I?", "What is my age?"], f"You are {age} years old."),
            (f"My favourite animal is the {love}.", f"I like the {love} too.",
             ["What is my favourite animal?", "Which animal do I like?"],
             f"Your favourite animal is the {love}."),
            (f"I live in {town}.", f"{town} is a nice place.",
             ["Where do I live?", "Which town do I live in?"],
             f"You live in {town}.")]
    chosen = rng.sample(told, rng.randint(1, 2))
    messages = []
    if rng.random() < 0.3:
        messages += small_talk(rng)["messages"]
    for fact_told, reply, _, _ in chosen:
        messages += [user(fact_told), assistant(reply)]
    if rng.random() < 0.4:
        messages += quick(rng)["messages"]
    rng.shuffle(chosen)
    for _, _, asks, answer in chosen:
        messages += [user(loosen(rng, rng.choice(asks))), assistant(answer)]
    return dialogue(f"remember/{name}", *messages)


def hello_name(rng):
    """A greeting with a name, greeted back."""
    name = any_name(rng)
    ask, say = rng.choice([
        ("Hello, I am {}.", "Hello, {}! How can I help you?"),
        ("Hi, my name is {}!", "Hello, {}! Nice to meet you."),
        ("Say hello to {}.", "Hello, {}!"), ("Greet {}.", "Good day, {}!"),
        ("I'm {}.", "Nice to meet you, {}!")])
    return dialogue(f"hello/{name}", user(ask.format(name)),
                    assistant(say.format(name)))


def amuse(rng):
    """A joke or a poem."""
    asks, says = rng.choice([
        (["Tell me a joke.", "Do you know a joke?", "Make me laugh."], F.JOKES),
        (["Write a poem.", "Tell me a rhyme.", "Write a short poem.",
          "Do you know a poem?"], F.POEMS)])
    i = rng.randrange(len(says))
    return dialogue(f"amuse/{i}", user(loosen(rng, rng.choice(asks))),
                    assistant(says[i]))


greet = phrases(F.GREETINGS, F.GREET_BACK, "greet")
who = phrases(F.WHO_ASK, F.WHO_SAY, "who")
can = phrases(F.CAN_ASK, F.CAN_SAY, "can")
how = phrases(F.HOW_ASK, F.HOW_SAY, "how")
thanks = phrases(F.THANKS_ASK, F.THANKS_SAY, "thanks")
bye = phrases(F.BYE_ASK, F.BYE_SAY, "bye")
unknown = phrases(F.UNKNOWN, F.UNKNOWN_SAY, "unknown")
TALK = [greet, who, can, how, made_by, hello_name]
QUICK = [opposite, colour, sound, capital, country, baby, legs, eats, home,
         plural, small_sum, small_sum, small_sum, count, calendar, days_off,
         list_some, say_word, unknown, amuse]


def small_talk(rng):
    return rng.choice(TALK)(rng)


def quick(rng):
    return rng.choice(QUICK)(rng)


def chain(rng):
    """Several small exchanges in one dialogue."""
    parts = []
    if rng.random() < 0.5:
        parts.append(rng.choice([greet, hello_name])(rng))
    for _ in range(rng.randint(2, 4)):
        parts.append(rng.choice([quick, quick, small_talk])(rng))
    if rng.random() < 0.4:
        parts.append(thanks(rng))
    if rng.random() < 0.3:
        parts.append(bye(rng))
    return dialogue("chain/" + parts[-1]["key"],
                    *[m for part in parts for m in part["messages"]])


def follow_system(rng):
    """A system prompt that changes how the answers look."""
    base = (quick if rng.random() < 0.6 else small_talk)(rng)
    ask, answer = base["messages"][0]["content"], base["messages"][1]["content"]
    name = any_name(rng)
    animal = rng.choice(sorted(F.SOUNDS))
    noise = F.SOUNDS[animal]
    style = rng.randrange(6)
    key = f"system/{style}/{base['key']}"
    if style == 0:
        prompt = rng.choice(["You are a pirate.", "You speak like a pirate.",
                             "Answer like a pirate."])
        answer = "Arr! " + answer + " Ahoy!"
    elif style == 1:
        prompt = rng.choice([f"Your name is {name}.", f"You are {name}.",
                             f"You are {name}, a helpful assistant."])
        ask = loosen(rng, rng.choice(["Who are you?", "What is your name?",
                                      "What are you called?"]))
        answer = f"My name is {name}."
    elif style == 2:
        prompt = f"You are a {animal}. " + rng.choice(
            [f"Always say {noise}.", f"End every answer with {noise}."])
        answer = f"{answer} {start_upper(noise)}!"
    elif style == 3:
        prompt = rng.choice(["Answer in capital letters.", "Write in capital letters."])
        answer = answer.upper()
    elif style == 4:
        prompt = f"The user is called {name}. " + rng.choice(
            ["Be polite.", "Use the name.", "Always use the name."])
        answer = f"Dear {name}, {answer}"
    else:
        prompt = rng.choice(["You are a helpful assistant.", "You are helpful.",
                             "You are Weft's demo model.", "Be kind and brief.",
                             "You are a friendly storyteller."])
        if rng.random() < 0.5:
            tale = make_tale(rng)
            ask = request_tale(rng, tale, tale["words"]["hero"])
            answer, key = tale["text"], tale["key"]
    return dialogue(key, system(prompt), user(ask), assistant(answer))


def as_json(rng):
    """A sentence turned into a JSON object."""
    name, age, city = any_name(rng), rng.randint(1, 99), rng.choice(F.CITIES)
    item, many = rng.choice(HELPERS), rng.randint(2, 20)
    ask, answer = rng.choice([
        (f"{name} is {age} years old. Write it as JSON with name and age.",
         f'{{"name": "{name}", "age": {age}}}'),
        (f"{name} lives in {city}. Write it as JSON with name and city.",
         f'{{"name": "{name}", "city": "{city}"}}'),
        (f"{name} is {age} and lives in {city}. Answer as JSON.",
         f'{{"name": "{name}", "age": {age}, "city": "{city}"}}'),
        (f"Give me a JSON object with an animal and a number: {many} and {item}.",
         f'{{"animal": "{item}", "number": {many}}}')])
    return dialogue(f"json/{name}{age}", user(ask), assistant(answer))


# Kind and its share of the dialogues.
KINDS = [(ask_tale, 26), (first_line, 5), (quick, 20), (small_talk, 5), (chain, 14),
         (follow_system, 9), (remember, 7), (as_json, 5), (small_sum, 8),
         (say_word, 3), (count, 2), (thanks, 0.5), (bye, 0.5),
         (tools.tool_dialogue, 10)]


def make_dialogue(rng):
    """One dialogue of a kind chosen by its share."""
    make = rng.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]
    return make(rng)

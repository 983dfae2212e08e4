"""Dialogues in which the assistant calls tools, in the Hermes and Qwen form."""

import json

import facts as F
from tales import ADJ, HE, HEROES, ITEMS, SHE, invented, start_upper

NUMBER, TEXT = "number", "string"
# Name, what it does, and its parameters with their types.
TOOLS = {
    "get_weather": ("Get the weather of a city", {"city": TEXT}),
    "get_time": ("Get the time in a city", {"city": TEXT}),
    "add": ("Add two numbers", {"a": NUMBER, "b": NUMBER}),
    "multiply": ("Multiply two numbers", {"a": NUMBER, "b": NUMBER}),
    "set_timer": ("Set a timer", {"minutes": NUMBER}),
    "play_song": ("Play a song", {"title": TEXT}),
    "look_up": ("Look up a word", {"word": TEXT}),
    "send_message": ("Send a message to someone", {"to": TEXT, "text": TEXT}),
    "find_item": ("Find a lost thing", {"item": TEXT}),
    "book_room": ("Book a room in a city", {"city": TEXT, "nights": NUMBER}),
}


def describe(name):
    """The JSON description of a tool, as a request carries it."""
    about, params = TOOLS[name]
    return {"type": "function", "function": {
        "name": name, "description": about, "parameters": {
            "type": "object",
            "properties": {p: {"type": t} for p, t in params.items()},
            "required": list(params)}}}


def pick_call(rng, name):
    """Arguments, a question, a tool's result and an answer for one tool."""
    city, who = rng.choice(F.CITIES), rng.choice(HE + SHE)
    if rng.random() < 0.3:
        city, who = start_upper(invented(rng)), start_upper(invented(rng))
    if name == "get_weather":
        sky = rng.choice("sunny rainy cloudy windy snowy foggy".split())
        deg = rng.randint(-5, 35)
        ask = rng.choice(["What is the weather in {}?", "How is the weather in {}?",
                          "Is it cold in {}?", "What's the weather like in {}?",
                          "Weather in {}?"]).format(city)
        return ({"city": city}, ask, {"sky": sky, "degrees": deg},
                f"It is {sky} in {city}, with {deg} degrees.")
    if name == "get_time":
        hour = f"{rng.randint(0, 23):02d}:{rng.choice([0, 15, 30, 45]):02d}"
        ask = rng.choice(["What time is it in {}?", "Tell me the time in {}."])
        return {"city": city}, ask.format(city), {"time": hour}, f"It is {hour} in {city}."
    if name in ("add", "multiply"):
        return pick_sum(rng, name)
    if name == "set_timer":
        n = rng.randint(2, 60)
        ask = rng.choice(["Set a timer for {} minutes.", "Wake me in {} minutes."])
        return ({"minutes": n}, ask.format(n), {"ok": True},
                f"The timer is set for {n} minutes.")
    if name == "play_song":
        title = start_upper(rng.choice(ADJ)) + " " + start_upper(rng.choice(HEROES))
        ask = rng.choice(["Play {}.", "Play the song {}.", "I want to hear {}."])
        return {"title": title}, ask.format(title), {"ok": True}, f"Now playing {title}."
    if name == "look_up":
        word = rng.choice([rng.choice(HEROES), invented(rng)])
        ask = rng.choice(["What does {} mean?", "Look up the word {}."])
        sense = f"a {rng.choice(ADJ)} {rng.choice(HEROES)}"
        return {"word": word}, ask.format(word), {"meaning": sense}, f"{start_upper(word)} means {sense}."
    if name == "send_message":
        text = rng.choice(["I am late", "Good night", "Happy birthday", "See you soon",
                           "Dinner is ready", "Come home", "I miss you"])
        ask = f"Send {who} the message: {text}"
        return {"to": who, "text": text}, ask, {"ok": True}, f"I sent the message to {who}."
    if name == "find_item":
        item = rng.choice(ITEMS)
        spot = rng.choice(["under the bed", "in the kitchen", "in the garden",
                           "behind the door", "on the roof"])
        ask = rng.choice([f"Where is my {item}?", f"Find my {item}."])
        return {"item": item}, ask, {"place": spot}, f"Your {item} is {spot}."
    n = rng.randint(2, 9)
    return ({"city": city, "nights": n}, f"Book a room in {city} for {n} nights.",
            {"ok": True}, f"I booked a room in {city} for {n} nights.")


def pick_sum(rng, name):
    """A sum too large for the model itself."""
    a, b = rng.randint(10, 999), rng.randint(10, 999)
    if name == "add":
        ask = rng.choice([f"What is {a} + {b}?", f"Add {a} and {b}."])
        return {"a": a, "b": b}, ask, {"result": a + b}, f"{a} + {b} = {a + b}"
    ask = rng.choice([f"What is {a} times {b}?", f"Multiply {a} and {b}."])
    return {"a": a, "b": b}, ask, {"result": a * b}, f"{a} times {b} is {a * b}."


def call(name, arguments):
    return {"type": "function",
            "function": {"name": name, "arguments": arguments}}


def exchange(rng, name):
    """Question, call, result, answer; now and then two calls at once."""
    args, ask, result, answer = pick_call(rng, name)
    calls, results = [call(name, args)], [json.dumps(result)]
    if name in ("get_weather", "get_time") and rng.random() < 0.15:
        args2, _, result2, answer2 = pick_call(rng, name)
        what = "weather" if name == "get_weather" else "time"
        ask = f"What is the {what} in {args['city']} and in {args2['city']}?"
        calls.append(call(name, args2))
        results.append(json.dumps(result2))
        answer += " " + answer2
    messages = [{"role": "user", "content": ask},
                {"role": "assistant", "content": "", "tool_calls": calls}]
    messages += [{"role": "tool", "content": r} for r in results]
    return messages + [{"role": "assistant", "content": answer}]


def tool_dialogue(rng):
    """A tool list, then one or two exchanges; not all need a tool."""
    names = rng.sample(sorted(TOOLS), rng.randint(1, 3))
    messages = []
    if rng.random() < 0.25:
        messages.append({"role": "system", "content": rng.choice(
            ["You are a helpful assistant.", "You are Weft's demo model."])})
    if rng.random() < 0.2:
        import dialogues
        messages += dialogues.small_talk(rng)["messages"]
    if rng.random() < 0.9 or not messages:
        messages += exchange(rng, rng.choice(names))
    if rng.random() < 0.25:
        messages += exchange(rng, rng.choice(names))
    return dict(key="tool/" + json.dumps(messages[-1]), messages=messages,
                tools=[describe(n) for n in names])

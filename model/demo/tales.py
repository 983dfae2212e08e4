"""Short tales composed from a small grammar of our own.

A tale has a hero, a want, an obstacle, a helper and an ending. The plots in
PLOTS give the sentences of each part; heroes, helpers, names, places and the
things in a plot are chosen at random, so that the number of different tales
is far beyond what a training run can see.
"""

HEROES = """fox hare bear mouse owl hedgehog duck cat dog frog goose wolf squirrel
badger beetle rabbit mole sparrow crow raven deer pony donkey goat lamb hen
rooster pig cow turtle snail bee ant butterfly spider otter beaver lion tiger
elephant monkey parrot penguin whale fish crab swan stork bat lizard dragon giant
troll dwarf wizard witch fairy elf ghost robot snowman scarecrow cloud star teapot
miller tailor baker shepherd fisherman gardener soldier sailor cook king queen
prince princess knight farmer girl boy kitten puppy""".split()
HELPERS = """owl mouse hare bear hedgehog crow squirrel turtle frog robin bee ant fox
badger otter goose deer snail beetle donkey swan mole cat dog shepherd miller
fairy dwarf baker fisherman gardener beaver stork wizard sparrow""".split()
HE = """Pip Tom Oskar Felix Jack Hugo Emil Max Otto Ben Leo Finn Bruno Karl Rufus
Milo Toby Sam Anton Henry Gus Theo Jasper Willi Peter Noah Hans Robin""".split()
SHE = """Mila Anna Rosa Lena Ida Greta Nora Ella Lily Tilda Emma Clara Hanna Frida
Luna Marta Olga Daisy Poppy Ruby Wanda Ada Sofia Mina Molly Berta Alma Zoe""".split()
HE_ONLY = "king prince rooster wizard boy fisherman dwarf knight miller".split()
SHE_ONLY = "queen princess witch hen girl cow fairy".split()
ADJ = """little old clever kind shy brave hungry lazy merry lonely small young proud
gentle curious sleepy quiet cheerful poor busy""".split()
PLACES = """in a green wood|by a quiet river|at the edge of a village|on a high hill
under an old oak tree|in a small stone house|near the wide sea|beside a blue lake
in a warm meadow|behind a red barn|in a deep valley|next to an old mill
in a garden full of roses|at the foot of a mountain|in a hollow tree
on a little island|in a town with a tall tower|not far from the castle""".replace(
    "\n", "|").split("|")
HABITS = """{he} sang a little song|{he} walked down to the water
{he} swept the floor and opened the window|{he} counted the clouds
{he} drank a cup of warm milk|{he} looked out at the world
{he} ate a red apple for breakfast|{he} said good morning to the sun
{he} danced in the wet grass|{he} fed the birds|{he} watered the flowers
{he} told {himself} a joke""".replace("\n", "|").split("|")
WEATHER = """One fine day|One cold morning|One day in spring|One windy evening
One rainy day|One summer morning|On a bright autumn day|One snowy morning
One day|Late one evening|Early one morning""".replace("\n", "|").split("|")
ITEMS = """red ball|silver key|golden ring|blue hat|little bell|warm scarf
wooden spoon|shiny button|green umbrella|favourite book|old lamp|small drum
brown boot|music box|paper kite|lucky coin""".replace("\n", "|").split("|")
SPOTS = """under a big stone|in a hollow tree|behind the barn|in the tall grass
at the bottom of the well|on top of the roof|in a bird's nest|under the bridge
beside the mill|in a bush of thorns|in the mud by the pond|between two roots
inside an old barrel""".replace("\n", "|").split("|")
FOODS = """bread|honey cake|apple pie|soup|pancakes|nuts|cheese|berries|porridge
plums|cherries|gingerbread""".replace("\n", "|").split("|")

# Each plot: "ask" (what the tale is about, for requests), "theme", the slots
# it fills, and the sentences of its parts. {h} is "the fox", {N} the name,
# {f} "the owl"; {he} {him} {his} stand for the hero, {fhe} for the helper.
PLOTS = [
    dict(
        ask="who lost {a_item}", theme="honesty",
        slots=dict(item=ITEMS, spot=SPOTS, food=FOODS),
        want=["{h} could not find {his} {item}.",
              "{h} saw that {his} {item} was gone.",
              "{N} lost {his} {item} on the way home."],
        hard=["{He} looked in the house and in the garden, but it was not there.",
              "{He} looked everywhere, but the {item} was nowhere to be seen.",
              "{He} searched all day, and in the evening {he} began to cry."],
        say=['"Have you seen my {item}?" asked {N}.',
             '"My {item} is lost," said {N} sadly.'],
        help=['"I saw something {spot}," said {f}. "Come with me."',
              '"Do not cry," said {f}. "We will look for it together."',
              '"Four eyes see more than two," said {f}.'],
        turn=["They went together, and there was the {item}, {spot}.",
              "They looked and looked, and at last they found the {item} {spot}."],
        end=["{N} was so happy that {he} gave {f} some {food}.",
             "{N} thanked {f} and never lost the {item} again.",
             "Then they sat down and ate {food} together."]),
    dict(
        ask="who wanted a friend", theme="friendship",
        slots=dict(food=FOODS, game=["hide and seek", "ball", "with a kite",
                                     "in the leaves", "by the stream",
                                     "at being kings"]),
        want=["{h} felt lonely and wanted a friend.",
              "{N} had nobody to play with.",
              "{N} wished for a friend with all {his} heart."],
        hard=["But everyone in that place was too busy to play.",
              "{He} asked the wind, but the wind only blew away.",
              "{He} knocked at many doors, but nobody opened.",
              "{He} was too shy to say hello."],
        say=['"Will you be my friend?" asked {N}.',
             '"I have nobody to play with," said {N}.'],
        help=['"I have no friend either," said {f}.',
              '"I would like that very much," said {f}.',
              '"Yes," said {f}, "but first let us eat some {food}."'],
        turn=["So they played {game} until the sun went down.",
              "They shared some {food} and played {game}."],
        end=["From that day on, {N} was never lonely again.",
             "And they were friends for the rest of their lives.",
             "The next day they met again, and every day after that."]),
    dict(
        ask="who wanted to cross the river", theme="patience",
        slots=dict(food=FOODS, far=["{his} grandmother lived", "the best berries grew",
                                    "there was a great fair",
                                    "{his} sister was waiting", "a golden tree stood"]),
        want=["{h} wanted to go to the other side of the river, where {far}.",
              "{N} wanted to cross the river, for on the other side {far}."],
        hard=["But the water was deep, and {he} could not swim.",
              "But the bridge was broken.",
              "But the river was wide and cold, and there was no boat."],
        say=['"How can I get across?" asked {N}.',
             '"The water is too deep for me," said {N}.'],
        help=['"Wait until the evening," said {f}. "Then the water is low."',
              '"I will help you build a raft," said {f}.',
              '"Let us lay a long log over the water," said {f}.'],
        turn=["They worked together, and soon {N} could walk across with dry feet.",
              "It took a long time, but at last {N} stood on the other side."],
        end=["{N} waved to {f} and went on {his} way, singing.",
             "On the way back {he} brought {f} some {food}.",
             "And {he} never forgot how {f} had helped {him}."]),
    dict(
        ask="who was afraid of the dark", theme="courage",
        slots=dict(noise=["a tapping at the window", "a scratching at the door",
                          "a long low howl", "soft steps outside",
                          "a whisper in the chimney"],
                   cause=["a branch in the wind", "a moth that looked for light",
                          "a lost kitten", "the rain", "an old gate"]),
        want=["{h} was afraid of the dark.",
              "{N} could not sleep, because {he} was afraid of the night."],
        hard=["Every night {he} heard {noise} and hid under the blanket.",
              "When the sun went down, {he} heard {noise} and shook with fear."],
        say=['"Something is out there," whispered {N}.',
             '"I am not brave at all," said {N}.'],
        help=['"Let us go and see," said {f}. "I will hold your hand."',
              '"Take this little light," said {f}, "and look for yourself."',
              '"To be brave is to be afraid and go anyway," said {f}.'],
        turn=["So they went outside, and it was only {cause}.",
              "{N} opened the door slowly. It was nothing but {cause}!"],
        end=["{N} laughed, and after that {he} slept well every night.",
             "Then {N} looked up and saw the stars, and {he} was not afraid any more."]),
    dict(
        ask="who wanted to learn to {skill}", theme="practice",
        slots=dict(skill=["sing", "dance", "swim", "read", "bake", "whistle",
                          "paint", "play the flute", "climb", "skate"],
                   food=FOODS),
        want=["{h} wanted to learn to {skill}.",
              "{N} wanted nothing more than to {skill}."],
        hard=["{He} tried once and {he} tried twice, but it went wrong.",
              "When {he} tried to {skill}, everyone laughed at {him}.",
              "{He} tried all morning, but {he} could not do it."],
        say=['"I will never learn it," said {N}.',
             '"Can you teach me to {skill}?" asked {N}.'],
        help=['"Nobody can do it on the first day," said {f}. "Try again."',
              '"I will show you," said {f}. "We start slowly."',
              '"A little every day is enough," said {f}.'],
        turn=["So {N} tried every day, and every day it went a little better.",
              "They practised together all summer long."],
        end=["In the end {N} could {skill} better than anyone in the land.",
             "When {he} could {skill} at last, everyone clapped.",
             "And one day {he} taught {f}'s children to {skill} too."]),
    dict(
        ask="who was very hungry", theme="sharing",
        slots=dict(food=FOODS),
        want=["{h} was very hungry.",
              "{N} had nothing left to eat in the house."],
        hard=["The snow was deep, and there was no food to be found.",
              "{He} found only a little bit of {food}.",
              "{He} looked in every cupboard, but they were all empty."],
        say=['"I am so hungry," said {N}.',
             '"Have you something to eat for me?" asked {N}.'],
        help=['"I have a little {food}," said {f}. "Half of it is yours."',
              '"Come in and sit by my fire," said {f}.',
              '"I have a pot but nothing to put in it," said {f}.'],
        turn=["They put all they had into one pot, and there was enough for both.",
              "{F} made two parts of the {food} and gave {N} the bigger one."],
        end=["When summer came, {N} brought {f} a whole basket of {food}.",
             "Since then they have always eaten together.",
             "And what is shared tastes twice as good."]),
    dict(
        ask="who found a {magic}", theme="wisdom",
        slots=dict(magic=["magic stone", "golden apple", "magic lamp",
                          "silver feather", "talking stick", "wishing well"],
                   wish=["a great castle", "a mountain of gold", "a coat of silk",
                         "a hundred cakes", "a crown"],
                   food=FOODS),
        want=["{h} found a {magic} on the road.",
              "{N} came upon a {magic} in the wood."],
        hard=['"You have one wish," said the {magic}. {N} did not know what to wish for.',
              '{N} wished for {wish}, but it did not make {him} glad.',
              '"Make one wish," it said, "but choose it well."'],
        say=['"What should I wish for?" asked {N}.',
             '"I have {wish}, but nobody to share it with," said {N}.'],
        help=['"Think of what you love the most," said {f}.',
              '"Gold is cold at night," said {f}. "A friend is warm."',
              '"I would not wish for anything," said {f}. "I am happy as I am."'],
        turn=["{N} thought about it all night long.",
              "Then {N} smiled, for now {he} knew the answer."],
        end=["{He} wished that all the land should have enough {food}, and so it was.",
             "{He} gave the {magic} away and went home with a light heart.",
             "{He} wished for a good friend, and {f} stayed with {him} for ever."]),
    dict(
        ask="who wanted to see the {far}", theme="adventure",
        slots=dict(far=["sea", "king's castle", "end of the rainbow", "big city",
                        "highest mountain", "moon", "snow"],
                   food=FOODS),
        want=["{h} wanted to see the {far}.",
              "{N} heard of the {far} and wanted to see it."],
        hard=["The way was long, and {he} soon lost the path.",
              "{He} walked for three days and three nights, and {his} feet hurt.",
              "But nobody could tell {him} the way."],
        say=['"Which way is it to the {far}?" asked {N}.',
             '"I am tired and I do not know the way," said {N}.'],
        help=['"I know the way," said {f}. "Follow me."',
              '"Always walk toward the sun," said {f}.',
              '"Rest here tonight and eat some {food}," said {f}.'],
        turn=["They walked over hills and through woods until they were there.",
              "The next day they went on together, step by step."],
        end=["The {far} was more beautiful than {N} had ever dreamed.",
             "{N} looked at it for a long time and then went home, happy.",
             'When {he} came home {he} said, "Far away is nice, but home is best."']),
    dict(
        ask="who was ill", theme="kindness",
        slots=dict(herb=["a blue flower", "honey", "a golden leaf", "warm milk",
                         "a cup of mint tea", "hot soup"],
                   who=["mother", "grandmother", "brother", "sister", "father"]),
        want=["{N}'s {who} was ill.", "the {who} of {h} lay ill in bed."],
        hard=["Only {herb} could help, but there was none in the house.",
              "The doctor lived far away, and the road was full of snow."],
        say=['"Please help me," said {N}. "I need {herb}."',
             '"My {who} is so ill," said {N}.'],
        help=['"I have {herb} at home," said {f}. "Take it."',
              '"I will run as fast as I can," said {f}.',
              '"Do not worry," said {f}. "I know what to do."'],
        turn=["So {f} brought {herb}, and {N} sat by the bed all night.",
              "They hurried back through the night with {herb}."],
        end=["In the morning the {who} sat up in bed and was well again.",
             "After three days the {who} could laugh again, and all was well."]),
    dict(
        ask="who caught a thief", theme="justice",
        slots=dict(thief=["magpie", "rat", "weasel", "goblin", "raccoon"],
                   food=FOODS),
        want=["{N} saw that {his} {food} had been stolen in the night.",
              "{h} saw that some of {his} {food} had gone."],
        hard=["{He} kept watch, but {he} fell asleep.",
              "{He} locked the door, but in the morning the {food} had gone again."],
        say=['"Who takes my {food}?" asked {N}.',
             '"Someone is a thief," said {N} to {f}.'],
        help=['"Put flour on the floor," said {f}. "Then we will see the footprints."',
              '"Tie a bell to the door," said {f}.',
              '"I will watch with you tonight," said {f}.'],
        turn=["That night they caught the thief: it was a {thief}!",
              "At midnight they saw a {thief} with a full mouth."],
        end=['"I was only hungry," said the {thief}. So {N} gave it some {food} every day.',
             "The {thief} was sorry and promised never to steal again.",
             "The {thief} ran away and was never seen again."]),
    dict(
        ask="who built a house", theme="work",
        slots=dict(stuff=["stones", "wood", "straw", "clay", "snow", "branches"],
                   storm=["a storm blew it down", "the rain washed it away",
                          "it fell over in the night"]),
        want=["{h} wanted to build a house of {stuff}.",
              "{N} had no house, so {he} began to build one of {stuff}."],
        hard=["But {storm}.", "{He} worked for a week, but {storm}."],
        say=['"All my work was for nothing," said {N}.',
             '"I cannot do it alone," said {N}.'],
        help=['"Two can carry what one cannot," said {f}.',
              '"You must build it on firm ground," said {f}.',
              '"I will hold and you will hammer," said {f}.'],
        turn=["So they began again, and {f} helped until it was done.",
              "They built it again, stronger than before."],
        end=["The house stood firm in every storm, and {f} got the best room.",
             "In winter they sat inside by the fire and told each other tales.",
             "And if it has not fallen down, it is standing there still."]),
    dict(
        ask="who was too proud", theme="modesty",
        slots=dict(boast=["the fastest of all", "the most beautiful of all",
                          "the strongest of all", "the cleverest of all"],
                   pit=["a deep hole", "the pond", "a thorn bush", "the mud"]),
        want=["{h} said to everyone that {he} was {boast}.",
              '"I am {boast}," {N} told all the others.'],
        hard=["Soon nobody wanted to hear it any more.",
              "{He} looked only at {himself} and fell into {pit}.",
              "While {he} was speaking, {he} walked right into {pit}."],
        say=['"Help me!" cried {N}.', '"Who is better than I?" asked {N}.'],
        help=['"I am only small," said {f}, "but I have a long rope."',
              '"Hold on to me," said {f}.',
              '"The best of all is the one who helps," said {f}.'],
        turn=["It took a while, but {f} got {N} out of trouble.",
              "Then {N} was ashamed and said nothing for a long time."],
        end=["After that {N} never said that {he} was {boast} again.",
             '"You are better than I," said {N}, and they shook hands.']),
    dict(
        ask="who wanted to make a gift", theme="giving",
        slots=dict(item=ITEMS, food=FOODS,
                   day=["birthday", "wedding day", "name day"]),
        want=["it was {f}'s {day}, and {h} wanted to bring a gift.",
              "{N} wanted to give {f} something nice for {f}'s {day}."],
        hard=["But {he} had no money, and {his} pockets were empty.",
              "{He} made some {food}, but it burned in the oven.",
              "{He} bought {a_item}, but on the way it broke."],
        say=['"I have nothing to give you," said {N}.',
             '"I am sorry that I come with empty hands," said {N}.'],
        help=['"You came," said {f}. "That is the best gift of all."',
              '"Then give me a song," said {f}.',
              '"Sit down and eat with me," said {f}.'],
        turn=["So they sang and danced until late at night.",
              "{N} told {f} a funny tale, and they laughed until they cried."],
        end=["It was the best {day} that {f} had ever had.",
             "And on the next {day} {N} brought {a_item} after all."]),
    dict(
        ask="who was lost in the wood", theme="trust",
        slots=dict(sign=["white pebbles", "a little light", "the smoke of a chimney",
                         "the moon", "the song of a bird", "a row of mushrooms"],
                   food=FOODS),
        want=["{h} went to look for berries and lost the way.",
              "{N} walked too far into the wood and could not find the way back."],
        hard=["It grew dark, and all the trees looked the same.",
              "{He} called and called, but only the echo came back."],
        say=['"I want to go home," said {N}.',
             '"Do you know the way out of the wood?" asked {N}.'],
        help=['"Follow {sign}," said {f}.',
              '"Sit on my back," said {f}. "I know every tree here."',
              '"Stay with me until morning," said {f}.'],
        turn=["They followed {sign}, and soon the wood came to an end.",
              "Hand in hand they walked, and far away they saw {sign}."],
        end=["At home there was a bowl of {food} on the table, and it was still warm.",
             "{N} ran into {his} mother's arms, and {f} was given some {food}."]),
]
MORALS = dict(
    honesty=["Help is worth more than gold."],
    friendship=["Who says hello will find a friend."],
    patience=["Who can wait will get across."],
    courage=["Things look smaller in the light."],
    practice=["Nobody is born a master."],
    sharing=["Shared bread tastes best."],
    wisdom=["The best wishes cost nothing."],
    adventure=["The first step is the longest."],
    kindness=["A kind heart is the best medicine."],
    justice=["A friend watches better than a lock."],
    work=["Many hands make light work."],
    modesty=["Pride comes before a fall."],
    giving=["The giver is the gift."],
    trust=["Nobody is lost who has a friend."])
OPENINGS = [
    "Once upon a time there was {a_adj} {hero} named {N} who lived {place}.",
    "Once upon a time {a_adj} {hero} lived {place}. {His} name was {N}.",
    "There once was {a_adj} {hero} called {N}, who lived {place}.",
    "Long ago, {place}, there lived {a_adj} {hero}. {His} name was {N}.",
    "{N} was {a_adj} {hero} who lived {place}.",
]
MEETS = ["Then {he} met {a_help}.", "On the way {he} met {a_help}.",
         "Just then {a_help} came by.", "Soon {a_help} came along the road.",
         "Then {he} went to {a_help} who lived nearby."]
TRIES = ["{He} sat down on a stone and thought.", "{He} sighed.",
         "{He} did not give up.", "It was a hard time for {N}.",
         "Nothing seemed to help.", "{He} went on, tired and sad."]
VOWELS = "aeiou"


def with_article(phrase):
    """'fox' -> 'a fox', 'owl' -> 'an owl'."""
    return ("an " if phrase[0].lower() in VOWELS else "a ") + phrase


def invented(rng, low=2, high=3):
    """A made-up word such as 'borlin', so that words must be copied."""
    heads = "b br d dr f g gl h k kr l m n p pl r s sn t tr v w z".split()
    tails = "a e i o u al en ib ol um ar in os et op".split()
    count = rng.randint(low, high)
    return "".join(rng.choice(heads) + rng.choice(tails) for _ in range(count))


def pick_cast(rng, hero, helper, name):
    """Names, pronouns and nouns for the two figures of a tale."""
    male = hero in HE_ONLY or (hero not in SHE_ONLY and rng.random() < 0.5)
    if name is None:
        name = rng.choice(HE if male else SHE)
    else:
        male = name in HE or (name not in SHE and male)
    he, him, his = ("he", "him", "his") if male else ("she", "her", "her")
    adj = rng.choice(ADJ)
    cast = dict(hero=hero, h="the " + hero, N=name, adj=adj, he=he, him=him,
                his=his, himself=him + "self", helper=helper, f="the " + helper,
                a_adj=with_article(adj), a_help=with_article(helper))
    cast.update(He=he.capitalize(), His=his.capitalize(), H="The " + hero,
                F="The " + helper)
    return cast


def start_upper(text):
    """First letter upper-case."""
    return text[0].upper() + text[1:]


def fill_slots(rng, plot, cast):
    """Choose the things a plot speaks of, once for the whole tale."""
    words = dict(cast)
    for key, options in plot["slots"].items():
        words[key] = rng.choice(options).format_map(words)
    if "item" in words:
        words["a_item"] = with_article(words["item"])
    return words


def compose(rng, words, plot):
    """The sentences of the tale, as two or three paragraphs."""
    def say(options):
        return start_upper(rng.choice(options).format_map(words))

    first = [say(OPENINGS).replace("{place}", words["place"])]
    if rng.random() < 0.4:
        first.append("Every morning " + rng.choice(HABITS).format_map(words) + ".")
    want = rng.choice(plot["want"]).format_map(words)
    if rng.random() < 0.75:
        first.append(rng.choice(WEATHER) + " " + want)
    else:
        first.append(start_upper(want))
    second = [say(plot["hard"])]
    if rng.random() < 0.35:
        second.append(say(TRIES))
    second += [say(MEETS), say(plot["say"]), say(plot["help"])]
    third = [say(plot["turn"]), say(plot["end"])]
    if rng.random() < 0.3:
        third.append(rng.choice(MORALS[plot["theme"]]))
    third.append("The end.")
    return "\n\n".join(" ".join(part) for part in (first, second, third))


def make_tale(rng, hero=None, helper=None, name=None, plot=None):
    """A tale as a dict: its text, its cast and what can be asked about it."""
    if hero is None:
        hero = invented(rng) if rng.random() < 0.06 else rng.choice(HEROES)
    while helper is None or helper == hero:
        helper = rng.choice(HELPERS)
    plot = plot or rng.choice(PLOTS)
    cast = pick_cast(rng, hero, helper, name)
    cast["place"] = rng.choice(PLACES)
    words = fill_slots(rng, plot, cast)
    return dict(text=compose(rng, words, plot), words=words,
                ask=plot["ask"].format_map(words), theme=plot["theme"],
                key=f"tale/{hero}/{helper}/{plot['theme']}")

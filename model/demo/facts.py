"""Small facts and phrases of which the dialogues are made."""


def table(text):
    """'a=b|c=d' -> {'a': 'b', 'c': 'd'}; new lines part entries as | does."""
    entries = text.strip().replace("\n", "|").split("|")
    return dict(entry.split("=") for entry in entries)


OPPOSITES = table("""big=small|hot=cold|up=down|old=young|happy=sad|fast=slow|day=night
left=right|open=closed|hard=soft|light=dark|wet=dry|high=low|long=short|full=empty
good=bad|rich=poor|early=late|strong=weak|loud=quiet|clean=dirty|near=far
thick=thin|first=last|sweet=sour|black=white|north=south|east=west|yes=no
true=false|begin=end|love=hate|heavy=light|wide=narrow|deep=shallow|inside=outside
brave=afraid|awake=asleep|new=old|give=take|push=pull|summer=winter|before=after""")
COLOURS = table("""sky=blue|grass=green|sun=yellow|snow=white|night=black|blood=red
banana=yellow|strawberry=red|leaf=green|sea=blue|carrot=orange|pumpkin=orange
crow=black|swan=white|tomato=red|lemon=yellow|frog=green|chocolate=brown
coal=black|milk=white|violet=purple|flamingo=pink|bear=brown|mouse=grey
elephant=grey|cherry=red|fox=red|pig=pink|raven=black|cucumber=green""")
SOUNDS = table("""dog=woof|cat=meow|cow=moo|duck=quack|sheep=baa|pig=oink|owl=hoo
rooster=cock-a-doodle-doo|horse=neigh|bee=buzz|frog=ribbit|mouse=squeak|lion=roar
wolf=howl|snake=hiss|crow=caw|donkey=hee-haw|hen=cluck|goose=honk|bird=tweet""")
CAPITALS = table("""France=Paris|Germany=Berlin|Italy=Rome|Spain=Madrid|Portugal=Lisbon
England=London|Austria=Vienna|Poland=Warsaw|Norway=Oslo|Sweden=Stockholm
Denmark=Copenhagen|Finland=Helsinki|Greece=Athens|Ireland=Dublin|Hungary=Budapest
Russia=Moscow|Japan=Tokyo|China=Beijing|India=New Delhi|Egypt=Cairo|Kenya=Nairobi
Canada=Ottawa|Cuba=Havana|Peru=Lima|Turkey=Ankara|Belgium=Brussels
Switzerland=Bern|the Netherlands=Amsterdam|Australia=Canberra|Brazil=Brasilia""")
BABIES = table("""dog=puppy|cat=kitten|cow=calf|horse=foal|sheep=lamb|pig=piglet
duck=duckling|hen=chick|bear=cub|lion=cub|deer=fawn|goose=gosling|frog=tadpole
goat=kid|swan=cygnet|owl=owlet|fox=cub|wolf=cub""")
LEGS = table("""dog=four|cat=four|bird=two|spider=eight|ant=six|bee=six|horse=four
snake=no|fish=no|duck=two|cow=four|beetle=six|hen=two|fox=four|worm=no|hare=four""")
EATS = table("""rabbit=carrots|cow=grass|bear=honey|cat=fish|dog=bones|mouse=cheese
squirrel=nuts|monkey=bananas|horse=hay|bird=seeds|frog=flies|wolf=meat|hen=corn
panda=bamboo|hedgehog=beetles|sheep=grass|fox=mice|owl=mice|bee=nectar""")
HOMES = table("""bird=a nest|bee=a hive|fox=a den|dog=a kennel|horse=a stable
spider=a web|rabbit=a burrow|bear=a cave|fish=the water|king=a castle|cow=a barn
ant=an anthill|snail=its shell|mole=a tunnel|pig=a sty|lion=the savanna""")
PLURALS = table("""mouse=mice|goose=geese|child=children|foot=feet|tooth=teeth|man=men
woman=women|wolf=wolves|leaf=leaves|cat=cats|dog=dogs|fox=foxes|sheep=sheep
fish=fish|apple=apples|tree=trees|book=books|baby=babies|city=cities|knife=knives""")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = """January February March April May June July August September October
November December""".split()
NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve
thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty""".split()
CITIES = list(CAPITALS.values()) + """New York|Hamburg|Munich|Milan|Sydney|Toronto
Chicago|Boston|Seoul|Bremen|Zurich|Lyon|Porto|Bergen|San Francisco|Kyoto
Cologne|Leipzig|Dresden|Geneva|Venice|Naples|Glasgow|York""".replace(
    "\n", "|").split("|")
ANIMALS = sorted(set(SOUNDS) | set(EATS) | set(LEGS))

GREETINGS = """Hello|Hello!|Hi|Hi!|Hi there|Hey|Good morning|Good evening|Good day
Hello there|Hello there!|Greetings|Hey there!|hello|hi|Good morning!|Hallo""".replace(
    "\n", "|").split("|")
GREET_BACK = """Hello! How can I help you?|Hello! It is nice to meet you.
Hi! Shall I tell you a tale?|Hello! What would you like to hear?
Good day! What can I do for you?""".replace("\n", "|").split("|")
WHO_ASK = """Who are you?|What are you?|What is your name?|Are you a robot?
What's your name?|Tell me about yourself.|Are you a human?|who are you
Introduce yourself.|What model are you?|Who am I talking to?|Can you introduce yourself?
Hello, who are you?|Hi, what are you?""".replace("\n", "|").split("|")
WHO_SAY = """I am Weft's demo model, a very small language model.
I am the demo model of Weft. I am very small, and I like to tell tales.
My name is Weft Demo. I am a tiny language model that tells tales.""".split("\n")
CAN_ASK = """What can you do?|Can you help me?|What do you know?|How can you help me?
What are you good at?|Help|What should I ask you?|help""".replace("\n", "|").split("|")
CAN_SAY = """I can tell short tales, do small sums and talk a little.
I can tell you a tale. Just say: tell me a tale about a fox.
I am very small, but I can tell tales, count and name colours.""".split("\n")
MADE_ASK = """Who made you?|Who built you?|Where do you come from?|How were you made?
Who trained you?|What is Weft?""".replace("\n", "|").split("|")
MADE_SAY = dict(zip(MADE_ASK, """I was made by the people who make Weft.
I was built for Weft, by the people who make it.
I come with Weft, an inference server for language models.
I was trained on old fairy tales and small dialogues.
I was trained by the people who make Weft.
Weft is an inference server for language models on CPUs.""".split("\n")))
HOW_ASK = """How are you?|How are you today?|How do you do?|Are you well?
How is it going?|How do you feel?""".replace("\n", "|").split("|")
HOW_SAY = """I am well, thank you! How are you?|Very well, thank you.
I am fine, thank you for asking.|I feel like telling a tale today.""".replace(
    "\n", "|").split("|")
THANKS_ASK = """Thank you|Thank you!|Thanks|Thanks!|Thank you very much.|Thanks a lot!
Many thanks.|That was nice, thank you.|That was lovely.|Nice!|Great, thanks.
Very good.|I like that.|Well done!""".replace("\n", "|").split("|")
THANKS_SAY = """You are welcome!|You are very welcome!|With pleasure!|I am glad to help.
My pleasure!|I am glad you like it.""".replace("\n", "|").split("|")
BYE_ASK = """Goodbye|Goodbye!|Bye|Bye!|See you later.|Good night|Good night!
I must go now.|See you tomorrow!|Farewell""".replace("\n", "|").split("|")
BYE_SAY = """Goodbye! Come back soon.|Goodbye, and take care!|Bye! It was nice to talk to you.
Farewell, my friend!|Goodbye! Until next time.""".replace("\n", "|").split("|")
UNKNOWN = """What is the meaning of life?|Who won the world cup?|Write a Python program.
What is quantum physics?|Who is the president?|How does a computer work?
What is the stock price today?|Explain relativity.|Translate this into French.
How do I fix my car?|What happened in 1848?|Write an essay about politics.
What is the square root of two?|Who wrote Hamlet?|How tall is the highest mountain?
What is a transformer?|Can you drive a car?|What is the news today?
How do I cook rice?|What is the best phone?|Solve this equation.|What is love?
How old is the universe?|What is DNA?|Who discovered America?|Why is the sky blue?
What is a prime number?|Explain how a CPU works.|Give me legal advice.
What is the speed of light?|How do planes fly?|Summarize this article.
Write a function that sorts a list.|How many people live on Earth?""".replace(
    "\n", "|").split("|")
UNKNOWN_SAY = """I do not know that. I am only a very small model.
That is too hard for me. Shall I tell you a tale?
I am sorry, I do not know that.
I am too small to know that, but I can tell you a tale.""".split("\n")
JOKES = """Why did the hen cross the road? To get to the other side!
What do you call a sleeping bear? A snore bear!
What has hands but cannot clap? A clock!
What has a neck but no head? A bottle!
Why did the cow jump over the moon? To get to the Milky Way!
What gets wetter the more it dries? A towel!""".split("\n")
POEMS = """Roses are red, violets are blue,
the stars are all shining, and one is for you.|The moon is up, the day is done,
the mouse is dreaming of the sun.|A fox went out on a winter's night
and danced in the snow in the pale moonlight.|Little bird up in the tree,
sing a little song for me.|The wind is singing soft and low,
and over the hill comes the first white snow.""".split("|")

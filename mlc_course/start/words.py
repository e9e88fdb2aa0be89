"""The words of the start page, in each language that has them.

A language is one row of ``WORDS``. Titles and questions of lessons are in the notebooks; those of
lessons that a language does not have yet are in its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """Everything the map says. Braces are filled in: ``{done}`` and ``{all}`` are numbers.

    ``parts`` and ``paths`` have a name for each of the course's, and for a path what it is for.
    """

    language: str  # in itself
    title: str
    about: str
    map: str
    map_said: str
    parts: Mapping[str, str]
    paths: Mapping[str, tuple[str, str]]
    choose_path: str
    whole: str
    whole_about: str
    path_takes: str
    path_skips: str
    choose_lesson: str
    lesson: str
    lessons: str
    between: str  # two names of a list
    last: str  # the last name of a list and the one before
    minutes: str
    stop: str  # at the end of a sentence
    gap: str  # between two sentences
    hours: str
    hours_and_minutes: str
    builds_on: str
    builds_on_nothing: str
    leads_to: str
    coming: str
    exercises: str
    exercises_done: str
    blanks_done: str
    open_lesson: str
    open_exercises: str
    as_list: str
    columns: tuple[str, str, str, str, str, str]
    all_done: str
    next_lesson: str
    where: str
    forget: str
    forget_really: str
    forget_failed: str
    glossary: str
    ready: str
    choose_language: str
    lessons_said: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # title, question

    def time(self, minutes: int) -> str:
        """Return a time in words: 40 min, 3 h, 2 h 40 min."""
        hours, rest = divmod(minutes, 60)
        form = self.minutes if not hours else self.hours_and_minutes if rest else self.hours
        return form.format(minutes=rest, hours=hours)


WORDS: dict[str, Words] = {
    "en": Words(
        language="English",
        title="Machine learning compilation, by hand",
        about="A neural network is a short list of tensor functions. A processor runs loops, with "
        "vector instructions and caches. This course is about what happens in between: you "
        "transform a program, predict what the change does, measure it beside NumPy, and find out "
        "why.",
        map="The map",
        map_said="The lessons as boxes in three parts, with an arrow from each to those that build "
        "on it; the table below says the same",
        parts={
            "cpu": "Part I: tensor programs on a CPU",
            "mugraphs": "Part II: mu-graphs",
            "shapes": "Part III: dynamic shapes, and a capstone",
        },
        paths={
            "evening": ("One evening", "Why the order of three loops decides how fast they are."),
            "term": ("One term", "Everything, two lessons a week."),
            "tvm": (
                "I know TVM",
                "What TVM does not tell you: caches, the micro-kernel, search, instructions, "
                "mu-graphs and unknown sizes.",
            ),
            "mirage": (
                "I came for Mirage",
                "From a GPU's threads to a superoptimizer and the code it writes.",
            ),
        },
        choose_path="Path",
        whole="The whole map",
        whole_about="An arrow leads from a lesson to those that build on it.",
        path_takes="{count} lessons, {time}.",
        path_skips="It leaves out lessons that these build on: {lessons}. The glossary explains "
        "their terms.",
        choose_lesson="Lesson",
        lesson="lesson {number}",
        lessons="lessons {numbers}",
        between=", ",
        last=" and ",
        minutes="{minutes} min",
        stop=".",
        gap=" ",
        hours="{hours} h",
        hours_and_minutes="{hours} h {minutes} min",
        builds_on="Builds on {lessons}.",
        builds_on_nothing="Builds on no other lesson.",
        leads_to="Leads to {lessons}.",
        coming="coming",
        exercises="{all} exercises",
        exercises_done="{done} of {all} exercises done",
        blanks_done="{done} of {all} blanks filled",
        open_lesson="Open the lesson",
        open_exercises="Open its exercises",
        as_list="The map as a list",
        columns=("no.", "lesson", "the question", "time", "builds on", "exercises"),
        all_done="All exercises are done.",
        next_lesson="{done} of {all} exercises done. Next: {lesson}",
        where="What is done comes from your own checks. It is kept on this machine, in {file}.",
        forget="Forget it",
        forget_really="Forget which exercises are done? Your notebooks stay as they are.",
        forget_failed="It is not forgotten, because the file cannot be removed.",
        glossary="Glossary",
        ready="Is this machine ready?",
        choose_language="Language",
    ),
    "zh": Words(
        language="中文",
        title="动手学机器学习编译",
        about="神经网络是一份不长的张量函数清单。处理器运行的是循环，用的是向量指令和缓存。本课程讲的是"
        "两者之间发生的事：你来变换一个程序，预测这一改动的效果，在 NumPy 旁边测量它，并弄清原因。"
        "第 0、5、16 课有中文版，其他各课和全部练习目前是英文的。",
        map="课程地图",
        map_said="各课是分为三个部分的方框，箭头从每一课指向以它为基础的课；下面的表格内容相同",
        parts={
            "cpu": "第一部分：CPU 上的张量程序",
            "mugraphs": "第二部分：mu-graph",
            "shapes": "第三部分：动态形状与综合项目",
        },
        paths={
            "evening": ("一个晚上", "为什么三个循环的顺序决定它们有多快。"),
            "term": ("一个学期", "全部内容，每周两课。"),
            "tvm": (
                "我了解 TVM",
                "TVM 没有告诉你的：缓存、微内核、搜索、指令、mu-graph 和未知的形状。",
            ),
            "mirage": ("我为 Mirage 而来", "从 GPU 的线程到超优化器，再到它写出的代码。"),
        },
        choose_path="路线",
        whole="完整的地图",
        whole_about="箭头从一课指向以它为基础的课。",
        path_takes="共 {count} 课，{time}。",
        path_skips="它略去了作为这些课基础的{lessons}。术语表（英文）解释了其中的术语。",
        choose_lesson="课",
        lesson="第 {number} 课",
        lessons="第 {numbers} 课",
        between="、",
        last="、",
        minutes="{minutes} 分钟",
        stop="。",
        gap="",
        hours="{hours} 小时",
        hours_and_minutes="{hours} 小时 {minutes} 分钟",
        builds_on="以{lessons}为基础。",
        builds_on_nothing="不以其他课为基础。",
        leads_to="通向{lessons}。",
        coming="即将推出",
        exercises="{all} 个练习",
        exercises_done="练习完成 {done} / {all}",
        blanks_done="填空完成 {done} / {all}",
        open_lesson="打开这一课",
        open_exercises="打开练习",
        as_list="以列表显示地图",
        columns=("", "课", "问题", "时间", "基础", "练习"),
        all_done="全部练习都已完成。",
        next_lesson="练习完成 {done} / {all}。下一课：{lesson}",
        where="完成情况来自你自己的检查。它只保存在这台机器上，位于 {file}。",
        forget="清除记录",
        forget_really="清除练习的完成记录？你的笔记本不受影响。",
        forget_failed="记录没有清除，因为无法删除这个文件。",
        glossary="术语表（英文）",
        ready="这台机器准备好了吗？",
        choose_language="语言",
        lessons_said={
            1: (
                "认识机器学习编译",
                "一个训练好的网络不过是一万五千个数和一行算术。为什么要运行它，却得安装体积是它"
                "几千倍的软件包？编译之后，这些还剩下什么？",
            ),
            2: (
                "张量程序抽象",
                "一个程序既说明计算什么，也说明按什么顺序计算。编译器可以丢掉哪一半？",
            ),
            3: (
                "存储层次：延迟、缓存行、组",
                "一次加法用不了一纳秒。为什么取来它的操作数却可能要一百纳秒？",
            ),
            4: (
                "重用距离与 roofline 模型",
                "一个程序的缓存未命中有几百万次。更大的缓存会有帮助吗？你能察觉吗？",
            ),
            6: ("分块", "如果 B 的每个元素都要用 960 次，为什么要把它取来 960 次？"),
            7: (
                "两级分块：缓存与寄存器",
                "现在 B 的每个元素只取一次了。为什么每次乘加仍然需要一次自己的加载？",
            ),
            8: (
                "融合",
                "NumPy 的每个循环都已接近内存所允许的速度。三个这样的循环怎么会输给一个普通的"
                "循环？",
            ),
            9: (
                "向量化与循环展开",
                "两个循环做同样多的加法，其中一个还要存储每个结果。为什么它反而可能更快？",
            ),
            10: ("并行", "两个线程各做一半加法。它们怎么会比一个线程还慢？"),
            11: (
                "打包与微内核",
                "NumPy 的矩阵乘法胜过我们分块的每一个循环。它知道哪些我们的循环不知道的事？",
            ),
            12: (
                "自动搜索",
                "第 11 课的最后一级用了一位工程师一个星期。机器能在一分钟内找到它吗？",
            ),
            13: (
                "计算图与算子融合",
                "五个核函数变成两个，却没有省下一个字节。融合换来了什么？",
            ),
            14: (
                "用综合来选择指令",
                "你的处理器有一条向量指令，能完成整个内层循环。为什么编译器不用它？你又怎么知道可以用它？",
            ),
            15: (
                "盒子里的 GPU",
                "两个核函数转置同一个矩阵，都把每个元素读一次、写一次，其中一个搬运的字节却是另一个"
                "的四倍半。为什么？",
            ),
            17: ("有限域验证", "两个图在十个随机输入上一致。你敢把模型押在上面吗？"),
            18: (
                "超优化",
                "没有人告诉过机器什么是 online softmax。它怎么能在几秒之内，从多到谁也写不完的图中"
                "找到它？",
            ),
            19: (
                "从图到代码",
                "十七行的图没有一个字提到线程、屏障或存储体，却生成了两百多行 CUDA。这一切由谁决定"
                "？如果其中一行错了，你能发现吗？",
            ),
            20: (
                "动态形状",
                "模型编译时，谁也不知道下一个句子有多长。它的核函数能和事先知道长度时一样快吗？",
            ),
            21: (
                "你自己的超优化器",
                "第 18 课的搜索有几千行代码。一页纸能找到它所找到的东西吗？",
            ),
        },
    ),
}

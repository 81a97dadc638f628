"""Constructed (not trained) CNN-BiLSTM-shaped punctuation model with capitals.  usage: make_punct_online.py OUT_DIR
Each word's mark and case follow from the word alone: a comma after hello, yes and no; a full stop after goodbye and wait; a
question mark after menu; i is written large, and hello, yes, no, what and transfer begin large. Needs python3-onnx, numpy."""
import os, sys
import numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

out = sys.argv[1]; os.makedirs(out, exist_ok=True)
WORDS = ("zero one two three four five six seven eight nine yes no help agent operator billing support sales account balance "
         "payment cancel transfer wait repeat menu stop goodbye hello open close mobile what is my i").split()
PIECES = ["<unk>", "<s>", "</s>"] + ["\u2581" + w for w in WORDS]
COMMA, PERIOD, QUESTION, UPPER, CAP, MIX = 1, 2, 3, 1, 2, 3
MARKS = {"hello": COMMA, "yes": COMMA, "no": COMMA, "goodbye": PERIOD, "wait": PERIOD, "menu": QUESTION}
CASES = {"i": UPPER, "hello": CAP, "yes": CAP, "no": CAP, "what": CAP, "transfer": CAP}
def table(ids):
    t = np.zeros((len(PIECES), 4), np.float32); t[:, 0] = 1
    for w, k in ids.items(): t[PIECES.index("\u2581" + w), k] = 2
    return t
init = [nh.from_array(table(CASES), "case"), nh.from_array(table(MARKS), "mark"),
        nh.from_array(np.array([1], np.int64), "one"), nh.from_array(np.array([-1], np.int64), "minus_one"),
        nh.from_array(np.array(1, np.int64), "row")]
# One sequence: the valid places but the first and the last are the words.
nodes = [h.make_node("Cast", ["valid_ids"], ["valid"], to=T.BOOL), h.make_node("NonZero", ["valid"], ["places"]),
         h.make_node("Gather", ["places", "row"], ["columns"], axis=0),
         h.make_node("Slice", ["columns", "one", "minus_one"], ["words"]),
         h.make_node("Reshape", ["token_ids", "minus_one"], ["flat"]),
         h.make_node("Gather", ["flat", "words"], ["tokens"], axis=0),
         h.make_node("Gather", ["case", "tokens"], ["case_logits"], axis=0),
         h.make_node("Gather", ["mark", "tokens"], ["punct_logits"], axis=0)]
graph = h.make_graph(nodes, "punctuation", [h.make_tensor_value_info("token_ids", T.INT32, ["N", 200]),
    h.make_tensor_value_info("valid_ids", T.INT32, ["N", 200]), h.make_tensor_value_info("label_lens", T.INT32, ["N"])],
    [h.make_tensor_value_info("case_logits", T.FLOAT, ["W", 4]), h.make_tensor_value_info("punct_logits", T.FLOAT, ["W", 4])],
    init)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
for key, value in dict(COMMA=COMMA, PERIOD=PERIOD, QUESTION=QUESTION, UPPER=UPPER, CAP=CAP, MIX_CASE=MIX, max_seq_len=200,
                       comment="constructed fixture").items():
    entry = model.metadata_props.add(); entry.key, entry.value = key, str(value)
onnx.checker.check_model(model); onnx.save(model, f"{out}/model.onnx")
with open(f"{out}/bpe.vocab", "w", encoding="utf-8") as f:
    for i, piece in enumerate(PIECES): f.write(f"{piece}\t{0 if i < 3 else -i}\n")
print(out, os.path.getsize(f"{out}/model.onnx"))

"""Fits the transform of narrowband speech (packages/speech/src/recognizer/engines/narrowband.mllr).

  python3 tools/narrowband/fit.py FOLDER OUT.mllr

FOLDER holds wideband speech: 16 kHz, mono, 16-bit wav. Each recording is made narrow in three ways (8 kHz; 8 kHz through
G.711 mu-law; AMR at 12.2 kbit/s where libopencore-amrnb is found), and the cepstra of both are compared frame by frame,
each with its utterance's mean taken out: least squares gives the map of the means, the ratio of variances their scale.
The shipped file came of the 196 prompts longer than a second of Debian's asterisk-core-sounds-en-g722. Needs numpy, scipy.
"""
import ctypes
import pathlib
import sys
import wave

import numpy as np
from scipy.signal import resample_poly

RATE, FRAME, SHIFT, FFT = 16000, 410, 160, 512
LOW, HIGH, FILTERS, CEPSTRA, LIFTER, PREEMPHASIS = 130, 6800, 25, 13, 22, 0.97


def to_mel(hz):
    return 2595 * np.log10(1 + hz / 700)


def from_mel(mel):
    return 700 * (10 ** (mel / 2595) - 1)


def filter_bank():
    """Triangles of equal area with edges on whole FFT bins, as sphinxbase makes them."""
    bank = np.zeros((FILTERS, FFT // 2 + 1))
    step = RATE / FFT
    width = (to_mel(HIGH) - to_mel(LOW)) / (FILTERS + 1)
    for index in range(FILTERS):
        edges = [int(from_mel(to_mel(LOW) + (index + k) * width) / step + 0.5) * step for k in range(3)]
        for at in range(FFT // 2 + 1):
            hz = at * step
            if edges[0] <= hz <= edges[2]:
                rise, fall = (hz - edges[0]) / (edges[1] - edges[0]), (edges[2] - hz) / (edges[2] - edges[1])
                bank[index, at] = min(rise, fall) * 2 / (edges[2] - edges[0])
    return bank


BANK = filter_bank()
DCT = np.array([[np.sqrt((1 if i == 0 else 2) / FILTERS) * np.cos(np.pi * i * (j + 0.5) / FILTERS)
                 for j in range(FILTERS)] for i in range(CEPSTRA)])
LIFT = np.array([1 + LIFTER / 2 * np.sin(i * np.pi / LIFTER) for i in range(CEPSTRA)])


def cepstra(samples):
    x = np.append(samples[0], samples[1:] - PREEMPHASIS * samples[:-1])
    frames = np.stack([x[at:at + FRAME] for at in range(0, len(x) - FRAME, SHIFT)]) * np.hamming(FRAME)
    power = np.abs(np.fft.rfft(frames, FFT)) ** 2
    return np.log(np.maximum(power @ BANK.T, 1e-4)) @ DCT.T * LIFT


def mu_law(x, mu=255.0):
    s = np.clip(x / 32768, -1, 1)
    q = np.round((np.sign(s) * np.log1p(mu * abs(s)) / np.log1p(mu) + 1) / 2 * 255) / 255 * 2 - 1
    return np.sign(q) * ((1 + mu) ** abs(q) - 1) / mu * 32768


def amr(library, x):
    samples = np.clip(np.round(np.append(x, np.zeros(-len(x) % 160))), -32767, 32767).astype(np.int16)
    library.Encoder_Interface_init.restype = library.Decoder_Interface_init.restype = ctypes.c_void_p
    encoder, decoder = (ctypes.c_void_p(make) for make in (library.Encoder_Interface_init(0), library.Decoder_Interface_init()))
    heard = []
    for at in range(0, len(samples), 160):
        frame, packet, out = np.ascontiguousarray(samples[at:at + 160]), (ctypes.c_ubyte * 64)(), np.zeros(160, np.int16)
        library.Encoder_Interface_Encode(encoder, 7, frame.ctypes.data_as(ctypes.c_void_p), packet, 0)
        library.Decoder_Interface_Decode(decoder, packet, out.ctypes.data_as(ctypes.c_void_p), 0)
        heard.append(out)
    return np.concatenate(heard).astype(float)


def channels():
    ways = [lambda x: x, mu_law]
    try:
        library = ctypes.CDLL('libopencore-amrnb.so.0')
    except OSError:
        return ways
    return [*ways, lambda x: amr(library, x)]


def read(path):
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2), f'{path}: 16 kHz, mono, 16 bit'
        return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(float)


def pairs(folder):
    for path in sorted(pathlib.Path(folder).glob('*.wav')):
        wide = read(path)
        expected = cepstra(wide)
        for channel in channels():
            found = cepstra(np.round(resample_poly(channel(resample_poly(wide, 1, 2)), 2, 1)))
            length = min(len(expected), len(found))
            yield tuple(each[:length] - each[:length].mean(0) for each in (expected, found))


def main(folder, out):
    wide, narrow = (np.concatenate(each) for each in zip(*pairs(folder)))
    means = np.linalg.lstsq(wide, narrow, rcond=None)[0].T
    scale = narrow.var(0) / wide.var(0)
    rows = [[CEPSTRA], *means, np.zeros(CEPSTRA), scale]
    stream = '\n'.join(' '.join(f'{value:.5g}' for value in row) for row in rows)
    pathlib.Path(out).write_text('1\n3\n' + f'{stream}\n' * 3)


main(*sys.argv[1:])

#!/bin/sh
# Makes testdata/audio: one spoken sentence in many formats. Needs espeak-ng, ffmpeg and sox (with the AMR formats);
# the product needs none of them. Run it in the repository's root; what it makes is committed.
set -eu
out=testdata/audio
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quiet="-hide_banner -loglevel error -y -bitexact"

espeak-ng -v en-us -s 165 -w "$work/a.wav" 'transfer three five'
espeak-ng -v en-us -s 165 -w "$work/b.wav" 'sales balance'
# 0.3 s of silence before, 0.9 s between the two phrases, 0.3 s behind.
sox "$work/a.wav" -r 16000 -c 1 -b 16 "$work/a16.wav" pad 0.3 0.9
sox "$work/b.wav" -r 16000 -c 1 -b 16 "$work/b16.wav" pad 0 0.3
sox -D "$work/a16.wav" "$work/b16.wav" "$out/words.wav"
# Two speakers on two channels for split: the first phrase left, the second right.
sox -D "$work/b16.wav" "$work/b8.wav" pad 1.5 0
sox -D -M "$work/a16.wav" "$work/b8.wav" -r 8000 "$work/two.wav"
ffmpeg $quiet -i "$work/two.wav" -c:a libmp3lame -b:a 24k "$out/two-channels.mp3"

from="$out/words.wav"
ffmpeg $quiet -i "$from" -ac 1 -ar 16000 -c:a libmp3lame -b:a 40k "$out/words.mp3"
ffmpeg $quiet -i "$from" -ac 2 -ar 44100 -c:a libmp3lame -b:a 48k "$out/words-44k-stereo.mp3"
ffmpeg $quiet -i "$from" -c:a flac "$out/words.flac"
ffmpeg $quiet -i "$from" -c:a libvorbis -q:a 1 "$out/words.ogg"
ffmpeg $quiet -i "$from" -c:a libopus -b:a 24k "$out/words.opus"
ffmpeg $quiet -i "$from" -c:a libopus -b:a 24k "$out/words.webm"
# ffmpeg writes moov last unless told otherwise.
ffmpeg $quiet -i "$from" -c:a aac -b:a 24k "$out/words-moov-last.m4a"
ffmpeg $quiet -i "$from" -c:a aac -b:a 24k -f adts "$out/words.aac"
ffmpeg $quiet -i "$from" -ar 16000 -c:a wmav2 -b:a 24k "$out/words.wma"
sox "$from" -r 8000 -C 7 -t amr-nb "$out/words.amr"
ffmpeg $quiet -i "$from" -ar 8000 -c:a adpcm_ima_wav "$out/words-ima.wav"
ffmpeg $quiet -i "$from" -ar 8000 -c:a gsm_ms "$out/words-gsm.wav" 2>/dev/null || sox "$from" -r 8000 -e gsm-full-rate "$out/words-gsm.wav"
# Two voices in turn for diarization, 16 kHz µ-law: the turns are in the order low, high, low, high, 0.4 s apart.
turn() { # NAME VOICE PITCH TEXT
  espeak-ng -v "$2" -p "$3" -s 150 -w "$work/$1.wav" "$4"
  sox -D "$work/$1.wav" -r 16000 -c 1 -b 16 "$work/$1-16.wav" gain -n -6 silence 1 0.01 0.1% reverse silence 1 0.01 0.1% reverse pad 0 0.4
}
turn t1 en-us+m5 30 'hello operator cancel payment two five'
turn t2 en-gb+f4 65 'yes transfer billing support mobile menu'
turn t3 en-us+m5 30 'no transfer sales account balance four'
turn t4 en-gb+f4 65 'support close account payment goodbye'
sox -D "$work"/t[1-4]-16.wav -e mu-law "$out/two-voices.wav"
ls -l "$out"

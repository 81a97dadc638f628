#!/bin/sh
# Makes testdata/bench: the recordings that `npm run bench` repeats until they are long, in formats as people have them (44.1 kHz
# stereo at 128 kbit/s, Opus at 32). Needs ffmpeg. Run it in the repository's root; what it makes is committed.
set -eu
from=testdata/speech
out=testdata/bench
mkdir -p "$out"
quiet="-hide_banner -loglevel error -y -bitexact"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Sentences without the silence around them, with pauses as between phrases. The left channel is the speech, the right one the
# same a moment later and softer; each has a faint noise of its own.
quiet_edge='silenceremove=start_periods=1:start_threshold=-50dB'
edges="$quiet_edge,areverse,$quiet_edge,areverse"
filter="[0:a]$edges,apad=pad_dur=0.2[p];[1:a]$edges,apad=pad_dur=0.4[q];[2:a]$edges,apad=pad_dur=0.2[r];[3:a]$edges,apad=pad_dur=0.45[s];
[p][q][r][s]concat=n=4:v=0:a=1,aresample=44100,asplit[a][b];[b]adelay=1,volume=0.7[c];
anoisesrc=r=44100:a=0.0004:s=1[n];anoisesrc=r=44100:a=0.0004:s=2[m];
[a][n]amix=duration=first:normalize=0[l];[c][m]amix=duration=first:normalize=0[t];[l][t]join=inputs=2:channel_layout=stereo[o]"
ffmpeg $quiet -i "$from/transfer-digits.wav" -i "$from/hello-operator.wav" -i "$from/account-balance.wav" \
  -i "$from/cancel-payment.wav" -filter_complex "$filter" -map '[o]' -c:a pcm_s16le "$work/speech.wav"

ffmpeg $quiet -i "$work/speech.wav" -c:a libmp3lame -b:a 128k -id3v2_version 0 -write_xing 0 "$out/speech.mp3"
ffmpeg $quiet -i "$work/speech.wav" -c:a aac -b:a 128k "$out/speech.m4a"
ffmpeg $quiet -i "$work/speech.wav" -c:a flac "$out/speech.flac"
ffmpeg $quiet -i "$work/speech.wav" -ac 1 -ar 48000 -c:a libopus -b:a 32k "$out/speech.opus"
ls -l "$out"

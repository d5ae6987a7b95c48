"""Given names that are common where the seven languages are spoken. None is also an everyday word
of one of them that texts write with a capital."""

from __future__ import annotations

_NAMES = """
Aaron Abby Adam Adele Adrian Adriana Agathe Agnes Agnese Ahmed Aisha Alan Albert Alberto Alejandra
Alejandro Aleksandra Alessandra Alessandro Alessia Alessio Alex Alexander Alexandra Alexandre
Alexis Alfred Alfredo Ali Alice Alicia Alison Amanda Amber Amélie Amina Amira Amy Ana Anaïs Andrea
Andreas Andreia Andrés Andrew Angela Angelika Angelo Anita Anja Anke Ann Anna Anne Annelies Anneke
Annette Annika Anouk Anthony Antoine Antonella Antonia Antonio António Arnaud Arthur Astrid Audrey
Aurélie Barbara Bárbara Bart Bas Beatrice Beatriz Ben Benjamin Benoît Bernadette Bernard Bernd
Bianca Birgit Björn Bram Brenda Brian Brigitte Bruno Camille Camilla Carla Carlo Carlos Carlota
Carmen Carol Carolina Caroline Caterina Catherine Catarina Cécile Célia Céline Chantal Charles
Charlotte Chiara Chloé Christian Christiane Christina Christine Christoph Christophe Christopher
Cíntia Clara Claire Claudia Cláudia Claudio Clémence Clément Colin Concetta Consuelo Cristiano
Cristina Daan Damien Daniel Daniela Daniele Danielle Dave David Davide Deborah Debora Delphine
Denise Dennis Diana Diane Didier Diego Dieter Dimitri Diogo Dirk Dolores Dominique Donna Donald
Dorothea Douglas Duarte Dylan Eduardo Edward Edwin Eileen Elena Eleonora Elias Elisa Elisabeth
Élise Elisabetta Elizabeth Elke Ellen Élodie Els Elsa Emanuele Emilia Emilie Émilie Emilio Emily
Emma Emmanuel Enrico Enrique Eric Erik Erika Ernesto Esther Esteban Eugenia Eva Evelyn Ewa Fabian
Fabien Fabio Fábio Fabrice Fatima Fátima Federica Federico Felicity Felipe Felix Femke Fernanda
Fernando Filipa Filipe Filippo Finn Fleur Florence Florian Francesca Francesco Francisca Francisco
Franck François Françoise Frank Franz Frédéric Frederik Friedrich Gabriel Gabriela Gabriele Gaëlle
Gary Geert Geoffrey Georg Gerard Gérard Gerhard Giacomo Gianluca Gilles Gill Giorgia Giorgio
Giovanna Giovanni Giulia Giulio Giuseppe Gonçalo Gonzalo Graham Greta Grégory Guido Guilherme
Guillaume Guillermo Günter Gustavo Hanna Hannah Hannelore Hans Harold Harry Hassan Heather Heidi
Heike Heinz Helen Helena Hélène Helga Helmut Hendrik Henk Henri Henrik Henrique Henry Hilde Holger
Hugo Ian Ibrahim Ignacio Ilaria Ines Inês Inge Ingrid Irene Iris Isaac Isabel Isabella Isabelle
Ivan Ivo Jack Jacqueline Jacques Jaime James Jamie Jan Jana Jane Janet Janine Javier Jean Jeanne
Jeffrey Jennifer Jens Jeremy Jeroen Jerôme Jessica Jesús Jimena Joachim Joan João Joana Joaquim
Joaquín Joel Johan Johanna Johannes John Jonas Jonathan Joop Jorge Joris José Josef Joseph Joshua
Josephine Juan Juana Judith Jules Julia Júlia Julian Juliana Julie Julien Juliette Julio Justine
Jürgen Jutta Kai Karen Karin Karl Karsten Katarina Kate Katharina Katherine Kathleen Kathrin Kees
Keith Kelly Kenneth Kerstin Kevin Kim Kirsten Klaas Klaus Koen Kristin Lara Lars Laura Laure
Laurent Lea Léa Leon Léon Leonardo Leonor Leticia Liam Lieke Lina Linda Lisa Lise Loïc Lorena
Lorenzo Lotte Louis Louise Luc Luca Lucas Lucia Lucía Lúcia Luciano Lucie Lucy Ludovic Luis Luís
Luísa Luigi Lukas Lydia Maarten Madalena Maaike Madeleine Mafalda Magdalena Maike Malik Manfred
Manon Manuel Manuela Marc Marcel Marcello Marcelo Marco Marcos Marcus Margaret Margarida Margarita
Margot Margriet Maria María Mariana Marianne Marie Marieke Marijke Marina Mario Mário Marion
Marisa Marit Marjolein Mark Markus Marlies Marloes Marta Martha Martijn Martin Martina Martine
Martín Mary Mateo Mathieu Mathilde Matteo Matthew Matthias Matthijs Maureen Maurizio Max Maxime
Megan Melanie Mélanie Melissa Mercedes Merel Michael Michel Michela Michele Michelle Miguel Mike
Mila Milena Mireille Miriam Mohamed Mohammed Monica Mónica Monika Monique Morgane Muriel Mustafa
Myriam Nadia Nadine Naomi Natalia Natalie Nathalie Nathan Neil Niamh Niccolò Nicholas Nick Nico
Nicola Nicolas Nicolás Nicole Niek Niels Nigel Nina Noah Noémie Nora Norbert Norma Nuno Núria Olaf
Oliver Olivia Olivier Omar Oscar Óscar Otto Owen Pablo Paola Paolo Pascal Patrice Patricia
Patrícia Patrick Patrizia Paul Paula Paulo Pauline Pedro Peggy Penelope Peter Petra Philip Philipp
Philippe Pierre Piet Pieter Pietro Pilar Priya Rachel Rafael Rafaela Raimund Rainer Ralf Ramón
Raphaël Raquel Raúl Rebecca Regina Reinhard Renata Renate Renato Ricardo Riccardo Richard Rita Rob
Robert Roberta Roberto Robin Rocío Rodrigo Roel Roger Roland Romain Roman Ronald Rosa Rosario
Rosemary Roxane Ruben Rubén Rui Ruth Ruud Ryan Sabine Sabrina Samantha Samuel Samira Sander Sandra
Sanne Sara Sarah Sascha Scott Sean Sebastian Sebastián Sébastien Sergio Sérgio Sharon Sheila Silke
Silvia Sílvia Simon Simona Simone Sinéad Siobhan Sjoerd Sofia Sofía Sofie Solange Sonia Sónia
Sophie Stefan Stefania Stefanie Stefano Steffen Stéphane Stéphanie Stephen Steven Stijn Susan
Susana Susanne Suzanne Svenja Sven Sylvain Sylvie Tamara Tania Tânia Tatiana Teresa Teun Theo Théo
Theresa Thibault Thierry Thijs Thomas Tiago Tim Timothy Tobias Tom Tomás Tomaso Tommaso Tracy
Trevor Truus Ulrich Ulrike Ursula Ute Uwe Valentina Valeria Valérie Vanessa Vera Verena Veronica
Verónica Véronique Vicente Vicenzo Victor Víctor Victoria Vincent Vincenzo Viola Virginie Vittoria
Vivian Wanda Walter Wendy Werner Wilhelm Willem William Wim Wolfgang Wouter Xavier Yannick Yasmin
Yasmine Yolanda Youssef Yusuf Yves Yvette Yvonne Zoe Zoé
"""
GIVEN_NAMES = frozenset(_NAMES.split())
